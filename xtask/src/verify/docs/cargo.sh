#!/bin/sh
# Replaces cargo for commands in documents: aliases run the built programs, and `cargo dev` has a separate port.
port="--port $DOCUMENT_PORT"
case " $* " in *" --port "* | *" --help "* | *" -h "*) port="" ;; esac
case "$1 $2" in
"dev ask" | "dev watch")
    command=$2
    shift 2
    exec "$DOCUMENT_XTASK" dev "$command" $port "$@"
    ;;
"dev "*)
    shift
    exec "$DOCUMENT_XTASK" dev $port "$@"
    ;;
"xtask "*)
    shift
    exec "$DOCUMENT_XTASK" "$@"
    ;;
"own-tool "*)
    shift
    exec "$DOCUMENT_OWN_TOOL" "$@"
    ;;
esac
echo "cargo $1 is too much for a document's command: fence its block as sh" >&2
exit 1
