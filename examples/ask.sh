#!/bin/sh
# Asks Djinn a question and prints what it says, as it comes. Needs a POSIX shell and curl.
#
#   ask.sh QUESTION          DJINN_URL, DJINN_KEY and SESSION say where, with which key, and in which session
#
# A stream that ends before its run does is taken up again behind the last event that was read: asking the same with the
# same request id is the same run, and Last-Event-ID says where to go on.
set -eu
# Offsets count bytes, and so does ${#shown}.
LC_ALL=C
export LC_ALL

quote() {
  printf '%s' "$1" | tr '\n\t' '  ' | sed 's/[\\"]/\\&/g'
}

[ $# -eq 1 ] || { echo "usage: ask.sh QUESTION" >&2; exit 2; }
url=${DJINN_URL:-http://127.0.0.1:9000}
session=${SESSION:-ask-$$-$(date +%s)}
request=ask-$$-$(date +%s)
body="{\"question\": \"$(quote "$1")\", \"session_id\": \"$session\", \"request_id\": \"$request\"}"

# What was shown of which message of which attempt, where the stream is, and how often it brought nothing new.
message='' attempt='' shown='' cursor='' idle=0

# The text member $2 of the JSON object $1, unescaped, in $member. A quote within a text has a backslash before it, so
# `"name":"` is found only where a member begins.
read_member() {
  member=''
  case $1 in *"\"$2\":\""*) rest=${1#*"\"$2\":\""} ;; *) return 0 ;; esac
  while :; do
    head=${rest%%\"*}
    rest=${rest#*\"}
    slashes=${head##*[!\\]}
    if [ $((${#slashes} % 2)) -eq 1 ]; then member="$member${head%?}\""; else break; fi
  done
  # A character behind it, or the shell would drop line breaks at the end.
  member=$(printf '%b.' "$member$head")
  member=${member%.}
}

begin_message() {
  [ -z "$shown" ] || echo
  shown=''
}

show_piece() {
  case $1 in *'"path":"'* | *'"kind":"reasoning"'*) return 0 ;; esac
  read_member "$1" message
  number=${1#*'"attempt":'}
  number=${number%%[!0-9]*}
  offset=${1#*'"offset":'}
  offset=${offset%%[!0-9]*}
  if [ "$member/$number" != "$message/$attempt" ]; then
    begin_message
    message=$member attempt=$number
  fi
  # What was shown before or lies behind a gap comes with the message.
  [ "$offset" -eq ${#shown} ] || return 0
  read_member "$1" text
  printf '%s' "$member"
  shown=$shown$member
}

show_message() {
  case $1 in *'"path":"'*) return 0 ;; esac
  read_member "$1" message
  [ "$member" = "$message" ] || begin_message
  read_member "$1" text
  case $member in
    "$shown"*) printf '%s' "${member#"$shown"}" ;;
    *) printf '\n%s' "$member" ;;
  esac
  [ -z "$member" ] || echo
  message='' attempt='' shown=''
}

read_stream() {
  event='' data='' id=$cursor
  while IFS= read -r line; do
    case $line in
      # A space after the colon may be there or not; JSON does not mind.
      id:*) id=${line#id:} id=${id# } ;;
      event:*) event=${line#event:} event=${event# } ;;
      data:*) data=${line#data:} ;;
      '')
        # Only now is the event whole.
        [ "$id" = "$cursor" ] || idle=0
        cursor=$id
        case $event in
          preview) show_piece "$data" ;;
          message.completed) show_message "$data" ;;
          message.reset) begin_message ;;
          human.requested)
            echo "the run asks people: examples/client.py answers, ask.sh cannot" >&2
            exit 3
            ;;
          run.ended)
            case $data in *'"status":"finished"'*) exit 0 ;; esac
            read_member "$data" code
            echo "the run did not finish: $member" >&2
            exit 1
            ;;
        esac
        event='' data=''
        ;;
      '{'*)
        read_member "$line" message
        echo "$member" >&2
        case $line in *'"retryable":true'*) ;; *) exit 1 ;; esac
        ;;
    esac
  done
  # The stream ended, and the run did not.
  idle=$((idle + 1))
  [ $idle -lt 10 ] || { echo "nothing comes any more; the request is $request" >&2; exit 1; }
  [ $idle -eq 1 ] || sleep 1
  follow
}

# Everything after a pipe is a process of its own, which knows what this one knew.
follow() {
  { curl -sN "$url/runs" -H 'accept: text/event-stream' -H 'content-type: application/json' \
    ${DJINN_KEY:+-H "authorization: Bearer $DJINN_KEY"} ${cursor:+-H "last-event-id: $cursor"} \
    -d "$body" && echo || :; } | read_stream
}

follow
