#!/bin/sh
# An agent in shell and curl: it knows an API and a key.
set -eu

tools='[{"type":"function","function":{"name":"list_files"}},{"type":"function","function":{"name":"read_file"}}]'
messages='{"role":"user","content":"Which file mentions a timeout?"}'

quoted() { # a JSON string
    printf '"%s"' "$(sed 's/[\\"]/\\&/g' | tr '\n' ' ')"
}

field() { # the text of the first "name" in a JSON document, unescaped
    sed -n "s/.*\"$1\":\"\(\([^\"\\\\]\|\\\\.\)*\)\".*/\1/p" | sed 's/\\\(["\\]\)/\1/g'
}

while :; do
    reply=$(curl -sS --fail-with-body "$OPENAI_BASE_URL/chat/completions" \
        -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
        -d "{\"model\":\"gpt-4.1\",\"messages\":[$messages],\"tools\":$tools}") || {
        echo "$reply" >&2
        exit 1
    }
    call=$(printf '%s' "$reply" | sed -n 's/.*"tool_calls":\(\[{.*}\]\).*"finish_reason".*/\1/p')
    if [ -z "$call" ]; then
        printf '%s' "$reply" | field content
        exit 0
    fi
    id=$(printf '%s' "$call" | field id)
    case $(printf '%s' "$call" | field name) in
    list_files) result=$(ls) ;;
    read_file) result=$(cat "$(printf '%s' "$call" | field arguments | field path)") ;;
    *) result='no such tool' ;;
    esac
    messages="$messages,{\"role\":\"assistant\",\"content\":null,\"tool_calls\":$call}"
    messages="$messages,{\"role\":\"tool\",\"tool_call_id\":\"$id\",\"content\":$(printf '%s' "$result" | quoted)}"
done
