//! Blocks that share state as the cells of a notebook do, and their figures.

use djinn_runtime::port::sandbox::{JobEnd, SandboxAnswer, SandboxJob, SandboxWork};

use crate::python::{TestSandbox, block, file, start, value};

const DEFINITIONS: &str = include_str!("cases/blocks-definitions.json");
const FIGURE: &str = include_str!("cases/blocks-figure.json");
const CHINESE_CHART: &str = include_str!("cases/chart-simhei.py");

/// Runs the blocks of one task, in order.
async fn run_blocks(sandbox: &TestSandbox, blocks: &[&str]) -> Vec<SandboxAnswer> {
    let mut answers: Vec<SandboxAnswer> = Vec::new();
    let mut earlier = Vec::new();
    for code in blocks {
        let state = answers.last().map(|answer| answer.state.clone()).unwrap_or_default();
        let work = SandboxWork::Python { code: (*code).to_owned(), earlier: earlier.clone() };
        let answer = sandbox.run(SandboxJob { work, files: Vec::new(), state }).await;
        assert_eq!(answer.end, JobEnd::Done, "{code}: {answer:?}");
        if value(&answer).error.is_none() {
            earlier.push((*code).to_owned());
        }
        answers.push(answer);
    }
    answers
}

/// Runs blocks of which the last prints this.
async fn expect_output(sandbox: &TestSandbox, blocks: &[&str], expected: &str) {
    let answers = run_blocks(sandbox, blocks).await;
    let last = answers.last().unwrap();
    assert_eq!(last.output.head.trim_end(), expected, "{blocks:?}: {:?}", value(last).error);
}

fn product_names(answer: &SandboxAnswer) -> Vec<&str> {
    answer.products.iter().map(|product| product.name.as_str()).collect()
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn definitions_come_back_with_what_they_are_made_of() {
    let sandbox = start();
    let blocks: Vec<String> = serde_json::from_str(DEFINITIONS).unwrap();
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    expect_output(&sandbox, &blocks, "14.4 1.0").await;
    for (definitions, code, expected) in [
        (
            "import functools\npart = functools.partial(lambda a, b: a * b, 2)",
            "print(part(4))",
            "8",
        ),
        ("k = 3\nscaled = [lambda x, k=k: x * k for k in range(k)]", "print(scaled[2](5))", "10"),
        (
            "def counter():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n        return n\n    \
             return count\ncount = counter()\ncount()",
            "print(count())",
            "2",
        ),
        ("rate = 2\ndef scale(x): return x * rate", "rate = 5\nprint(scale(1))", "5"),
        (
            "import functools\n@functools.cache\ndef f(n): return n and n + f(n - 1)",
            "print(f(4))",
            "10",
        ),
        (
            "base = 7\nclass A:\n    x = base\n    def __init__(self): super().__init__(); self.y = 1\na = A()\nA.x += 1",
            "print(a.x, a.y, isinstance(a, A))",
            "8 1 True",
        ),
        (
            "from dataclasses import *\nzero = 0\n@dataclass\nclass D:\n    x: int = zero\n    y: list = field(default_factory=list)",
            "print(D(), replace(D(1), x=2), [f.name for f in fields(D)])",
            "D(x=0, y=[]) D(x=2, y=[]) ['x', 'y']",
        ),
        (
            "from collections import namedtuple\nP = namedtuple('P', 'x y')\np = P(1, 2)",
            "print(p, P(3, 4).y)",
            "P(x=1, y=2) 4",
        ),
        (
            "import enum\nclass C(enum.Enum):\n    RED = 1\n    def low(self): return self.name.lower()\nc = C.RED",
            "print(c is C.RED, c.low())",
            "True red",
        ),
        (
            "from abc import *\nfrom typing import *\nT = TypeVar('T')\nclass B(ABC, Generic[T]):\n    @abstractmethod\n    def go(self): ...\n\
            class I(B[int]):\n    @property\n    def p(self): return 1\n    def go(self): return self.p",
            "print(I().go(), issubclass(I, B))",
            "1 True",
        ),
        ("a = []\nb = a", "a.append(1)\nprint(b)", "[1]"),
        ("_hidden = 4", "print(_hidden)", "4"),
    ] {
        expect_output(&sandbox, &[definitions, code], expected).await;
        // Variables that were kept once are kept again.
        expect_output(&sandbox, &[definitions, "pass", "pass", code], expected).await;
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn what_a_failed_block_defined_is_there() {
    let sandbox = start();
    let failed = "import math\ndef area(r): return math.floor(r)\nclass A: pass\nx = 1 / 0";
    expect_output(&sandbox, &[failed, "print(area(2.5), A.__name__)"], "2 A").await;
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn what_cannot_be_kept_is_named_and_costs_nothing_else() {
    let sandbox = start();
    let unkept = "import numpy as np\nx = 1\nbig = np.zeros(60 << 20, dtype='u1')\nhandle = open('f', 'w')\n\
        class Odd(Exception):\n    def __init__(self, a, b): super().__init__(a)\nodd = Odd(1, 2)\n\
        open('mine.py', 'w').write('y = 2')\nimport sys\nsys.path.insert(0, '.')\nimport mine\n\
        numbers = (n for n in range(3))\n_secret = open('g', 'w')\n\
        class Hostile:\n    def __reduce__(self): raise KeyboardInterrupt\nhostile = Hostile()";
    let answers = run_blocks(&sandbox, &[unkept, "print(x, Odd(1, 2).args)"]).await;
    let lost = value(&answers[0]).lost;
    assert_eq!(lost, ["big", "handle", "hostile", "mine", "numbers", "odd"]);
    assert_eq!(answers[1].output.head, "1 (1,)\n");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn settings_of_libraries_last() {
    let sandbox = start();
    let set = "import warnings\nimport matplotlib.pyplot as plt, numpy as np, pandas as pd, seaborn as sns\n\
        sns.set_theme()\nplt.rcParams['figure.dpi'] = 77\npd.set_option('display.max_rows', 7)\n\
        pd.options.display.float_format = lambda value: f'{value:.1f}!'\nnp.set_printoptions(precision=2)\n\
        warnings.filterwarnings('ignore')";
    let read = "print(plt.rcParams['figure.dpi'], plt.rcParams['axes.facecolor'], pd.get_option('display.max_rows'))\n\
        print(pd.Series([1.25]).to_string(), np.array([1.234]))\nwarnings.warn('nobody reads this')";
    expect_output(&sandbox, &[set, "pass", read], "77.0 #EAEAF2 7\n0   1.2! [1.23]").await;
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn figure_over_three_blocks_is_delivered_once_with_its_bars() {
    let sandbox = start();
    let blocks: Vec<String> = serde_json::from_str(FIGURE).unwrap();
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    let answers = run_blocks(&sandbox, &blocks).await;
    let products: Vec<_> = answers.iter().map(product_names).collect();
    assert_eq!(products, [vec![], vec![], vec!["sales.png"]]);
    // Runs of the bars' colour in a row of pixels near their feet.
    let count = "import matplotlib.image\nimage = matplotlib.image.imread('sales.png')\n\
        row = image[int(image.shape[0] * 0.85), :, 2] - image[int(image.shape[0] * 0.85), :, 0] > 0.2\n\
        print(int((row[1:] & ~row[:-1]).sum()))";
    let picture = answers[2].products[0].content.clone();
    let job = SandboxJob { files: vec![file("sales.png", picture)], ..block(count) };
    assert_eq!(sandbox.run(job).await.output.head, "2\n");
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn empty_figures_are_named_instead_of_saved() {
    let sandbox = start();
    let draw = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nfig.suptitle('Sales')\nax.set_title('x')";
    let blocks = [
        draw,
        "plt.title('x')\nplt.savefig('empty.png')",
        "ax.axis('off')\nax.table([['a']])\nfig",
    ];
    let answers = run_blocks(&sandbox, &blocks).await;
    let products: Vec<_> = answers.iter().map(product_names).collect();
    assert_eq!(products, [vec![], vec![], vec!["figure-1.png"]]);
    let empty: Vec<_> = answers.iter().map(|answer| value(answer).empty_figures).collect();
    assert_eq!(empty, [vec![], vec!["empty.png".to_owned()], vec![]]);
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn charts_in_any_family_show_chinese_and_korean_without_a_warning() {
    let sandbox = start();
    let answer = sandbox.run_code(CHINESE_CHART).await;
    assert_eq!(answer.output.head, "", "{answer:?}");
    assert_eq!(product_names(&answer), ["a.png"]);
    // Characters without a glyph look alike.
    let compare = "def shape(text):\n    figure = plt.figure(figsize=(1, 1))\n    figure.text(0.2, 0.2, text, fontsize=40)\n    \
        figure.canvas.draw()\n    shape = bytes(figure.canvas.buffer_rgba())\n    plt.close(figure)\n    return shape\n\
        for text in ('华东✓★℃あ한국어', ['$华$', '$东$']): print(len(text) == len({shape(one) for one in text}))";
    let imports = "import matplotlib.pyplot as plt, seaborn as sns";
    for settings in [
        "plt.rcParams['font.sans-serif'] = ['SimHei', 'Microsoft YaHei']",
        "plt.rcParams['font.family'] = 'SimHei'",
        "plt.rcParams['font.family'] = ['Arial', 'Helvetica']",
        "plt.rcParams['font.family'] = 'monospace'",
        "sns.set_theme(font='Arial')",
        "sns.set_theme()\nplt.rcParams['mathtext.fontset'] = 'stix'",
        "plt.rcParams['mathtext.fontset'] = 'cm'",
        "plt.rcdefaults()",
    ] {
        let answer = sandbox.run_code(&format!("{imports}\n{settings}\n{compare}")).await;
        assert_eq!(answer.output.head, "True\nTrue\n", "{settings}: {answer:?}");
    }
}

#[tokio::test]
#[ignore = "needs a Python: cargo verify --only sandbox"]
async fn lines_for_notebooks_get_a_hint() {
    let sandbox = start();
    for (code, line, hint) in [
        ("x = 1\n%matplotlib inline", 2, "no_magic"),
        ("took = %timeit 3", 1, "no_magic"),
        ("!pip install requests", 1, "no_packages"),
        ("%pip install requests", 1, "no_packages"),
        ("pip install requests", 1, "no_packages"),
        ("files = !ls", 1, "no_outside"),
        ("import asyncio\nawait asyncio.sleep(0)", 2, "no_await"),
        ("x = (1,\n  2", 1, ""),
        ("y = 5 %% 2", 1, ""),
    ] {
        let error = value(&sandbox.run_code(code).await).error.unwrap();
        assert_eq!(
            (error.kind.as_str(), error.line, error.hint.as_str()),
            ("SyntaxError", Some(line), hint),
            "{code}"
        );
    }
}
