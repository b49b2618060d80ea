//! Describes this machine's walls around model-written code, in a sentence or two.

use djinn_local::Walls;

/// Describes the walls around code, and the missing walls of this kernel. `needs_file_wall` is false if the
/// environment allows code without a wall around files.
pub(super) fn describe_walls(walls: &Walls, needs_file_wall: bool) -> String {
    if let Some(missing) = walls.missing(needs_file_wall) {
        return format!(
            "Model-written code is DISABLED: this kernel has no {missing} (docs/sandbox.md)."
        );
    }
    let Walls { landlock, private_root, own_user, .. } = walls;
    let landlock = match landlock {
        0 => None,
        version => Some(format!("Landlock {version}")),
    };
    let private_root = private_root.then(|| "its own file system".to_owned());
    let names: Vec<_> =
        [private_root, landlock, Some("seccomp".to_owned())].into_iter().flatten().collect();
    let mut text = format!("Model-written code is isolated by {}.", names.join(", "));
    let lacks = [
        (walls.landlock == 0 && !walls.private_root, "it can read and change what you can"),
        (walls.landlock > 0 && !walls.private_root, "it can tell which files exist"),
        (!own_user, "its threads count as yours"),
    ];
    let lacks: Vec<_> = lacks.iter().filter(|(is_so, _)| *is_so).map(|(_, lack)| *lack).collect();
    if !lacks.is_empty() {
        text += &format!(
            "\nThis kernel provides nothing more, so {} (docs/sandbox.md).",
            lacks.join(", and ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_described_with_what_they_lack() {
        let walls = |landlock, seccomp, private_root, own_user| Walls {
            python: "3.13.1".to_owned(),
            landlock,
            seccomp,
            private_root,
            own_user,
        };
        for (walls, needs_file_wall, text) in [
            (
                walls(7, true, true, true),
                true,
                "Model-written code is isolated by its own file system, Landlock 7, seccomp.",
            ),
            (
                walls(0, true, true, false),
                true,
                "Model-written code is isolated by its own file system, seccomp.\n\
                 This kernel provides nothing more, so its threads count as yours (docs/sandbox.md).",
            ),
            (
                walls(4, true, false, false),
                true,
                "Model-written code is isolated by Landlock 4, seccomp.\n\
                 This kernel provides nothing more, so it can tell which files exist, and its threads count as yours \
                 (docs/sandbox.md).",
            ),
            (
                walls(0, true, false, false),
                false,
                "Model-written code is isolated by seccomp.\n\
                 This kernel provides nothing more, so it can read and change what you can, and its threads count as \
                 yours (docs/sandbox.md).",
            ),
            (
                walls(0, true, false, false),
                true,
                "Model-written code is DISABLED: this kernel has no Landlock and no namespaces (docs/sandbox.md).",
            ),
            (
                walls(7, false, true, true),
                true,
                "Model-written code is DISABLED: this kernel has no seccomp (docs/sandbox.md).",
            ),
        ] {
            assert_eq!(describe_walls(&walls, needs_file_wall), text);
        }
    }
}
