//! Images that are made small enough for a model.

use djinn_core::id::FileName;
use djinn_runtime::port::sandbox::{SandboxJob, SandboxWork, ScaleValue};

use crate::python::{block, file, start};

/// Draws what is scaled below.
const DRAW: &str = r#"
from PIL import Image
import numpy as np
noise = Image.fromarray(np.random.default_rng(1).integers(0, 255, (600, 900, 3), dtype='uint8'))
noise.save('noise.jpg', quality=97)
noise.save('noise.png')
Image.new('RGB', (400, 200), 'red').save('fits.png')
Image.new('RGBA', (2500, 100), (9, 9, 9, 99)).save('wide.png')
tall = Image.new('RGB', (300, 4100), 'white')
for row in range(4100): tall.putpixel((0, row), (row % 256, row // 256, 0))
tall.save('tall.png')
exif = Image.Exif()
exif[0x0112], exif[0x010F] = 6, 'Camera of somebody'
Image.new('RGB', (300, 100), 'blue').save('turned.jpg', exif=exif)
frames = [Image.new('RGB', (50, 50), color) for color in ('red', 'blue')]
frames[0].save('moves.gif', save_all=True, append_images=frames[1:])
frames[0].save('moves.webp', save_all=True, append_images=frames[1:])
Image.new('1', (12_000, 12_000)).save('bomb.png')
open('half.png', 'wb').write(open('noise.png', 'rb').read()[:5_000])
"#;

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn images_are_made_to_fit_and_what_fits_stays_as_it_is() {
    let sandbox = start();
    let mut files = sandbox.run_code(DRAW).await.products;
    files.push(file("text.png", "no image"));
    // A name, whether there is another file of it after, its width and height, or what is wrong.
    let expected = [
        ("noise.jpg", true, 900, 600, ""),
        ("noise.png", true, 506, 337, ""),
        ("fits.png", false, 400, 200, ""),
        ("wide.png", false, 0, 0, ""),
        ("tall.png", false, 0, 0, ""),
        ("turned.jpg", true, 100, 300, ""),
        ("moves.gif", true, 50, 50, ""),
        ("moves.webp", true, 50, 50, ""),
        ("bomb.png", false, 0, 0, "too_large"),
        ("half.png", false, 0, 0, "broken"),
        ("text.png", false, 0, 0, "no_image"),
    ];
    let names = expected.iter().map(|(name, ..)| FileName::new(*name).unwrap()).collect();
    let work = SandboxWork::Scale { names, max_edge: 1_000, max_bytes: 600_000 };
    let answer = sandbox.run(SandboxJob { work, files, state: Vec::new() }).await;
    for (name, is_changed, width, height, problem) in expected {
        let said: ScaleValue = serde_json::from_value(answer.value[name].clone()).unwrap();
        let made = answer.products.iter().find(|product| product.name.as_str() == name);
        assert_eq!(
            (said.width, said.height, said.problem.as_str()),
            (width, height, problem),
            "{name}"
        );
        assert_eq!(made.is_some(), is_changed, "{name}");
        if let Some(made) = made {
            assert!(made.content.len() <= 600_000, "{name}: {}", made.content.len());
            assert!(
                !made.content.windows(6).any(|part| part == b"Camera"),
                "{name} says who took it"
            );
        }
    }
    let parts = |name: &str| {
        let said: ScaleValue = serde_json::from_value(answer.value[name].clone()).unwrap();
        let part = |part: &FileName| answer.products.iter().find(|made| made.name == *part);
        said.parts.iter().map(|name| part(name).unwrap().clone()).collect::<Vec<_>>()
    };
    let (wide, tall) = (parts("wide.png"), parts("tall.png"));
    assert_eq!((wide.len(), tall.len()), (3, 5));
    // Each part begins before the one before it ends, and none of them is smaller than it was.
    let names = tall.iter().map(|part| part.name.to_string()).collect::<Vec<_>>();
    let code = format!(
        "from PIL import Image\nend = 0\nfor name in {names:?}:\n    part = Image.open(name)\n    \
         red, green, _ = part.getpixel((0, 0))\n    start = green * 256 + red\n    \
         assert start <= end and part.width == 300 and part.height <= 1000, (start, end, part.size)\n    \
         end = start + part.height\nprint(end)"
    );
    let read = sandbox.run(SandboxJob { files: tall, ..block(&code) }).await;
    assert_eq!(read.output.head, "4100\n", "{}", read.value["error"]);
}
