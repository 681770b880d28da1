#!/bin/sh
# Stdio: one tool "shared", and one "own" for a client that has roots; each answers with the id of its process.
able=
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  id=${id%\}}
  case $line in
    *'"initialize"'*)
      case $line in *'"roots"'*) able=',{"name":"own","inputSchema":{"type":"object"}}' ;; esac
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny-asking","version":"1"}}}'
      ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"shared","inputSchema":{"type":"object"}}'"$able"']}}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"'$$'"}]}}' ;;
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}' ;;
    *'"ping"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
  esac
done
