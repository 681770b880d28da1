#!/bin/sh
# Stdio: shakes hands, lists no tools and waits for the end of its input; costs a fraction of what a runtime does.
# It answers in the order in which the hub asks: initialize, then tools/list.
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case $line in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[]}}' ;;
    *'"ping"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}' ;;
  esac
done
