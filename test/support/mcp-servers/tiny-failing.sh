#!/bin/sh
# Stdio: one tool "fail", each call of which fails, as one with wrong arguments does.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  id=${id%\}}
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny-failing","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"fail","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"'$$'"}],"isError":true}}' ;;
    *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"Method not found"}}' ;;
    *'"ping"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
  esac
done
