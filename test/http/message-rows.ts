import { LIMITS } from '../../core/config/limits.ts'
import { call, type McpRow, message, ping } from './mcp-rows.ts'

const LONGEST = 'i'.repeat(LIMITS.rpcIdCharacters)
const HUGE = 'A'.repeat(3_900_000)
/** Bodies under /mcp. */
export const BODIES: readonly McpRow[] = [
  message('nothing', '', 400, -32700, 'json_empty'),
  message('blanks', ' \n', 400, -32700, 'json_empty'),
  message('{', '{', 400, -32700, 'json_invalid'),
  message('two values', '{}{}', 400, -32700, 'json_invalid'),
  message('NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}', 400, -32700, 'json_invalid'),
  message('a byte order mark, which is skipped', `\ufeff${JSON.stringify(ping)}`, 200),
  message('depth 65', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 400, -32600, 'json_too_deep'),
  message('depth 65, and not JSON', `${'['.repeat(65)}x`, 400, -32600, 'json_too_deep'),
  message('depth 100,000', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 400, -32600, 'json_too_deep'),
  message(
    '__proto__',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}',
    400,
    -32600,
    'key_forbidden',
  ),
  message(
    '__proto__, escaped',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\\u005f_proto__":{}}}',
    400,
    -32600,
    'key_forbidden',
  ),
  ...['null', '"x"', '1', 'true', '[]', '[1]', '[[]]', '[null]'].map(text =>
    message(text, text, 400, -32600, 'request_invalid'),
  ),
  message('a batch of 101', Array(101).fill(ping), 400, -32600, 'request_invalid'),
]

/** Messages under /mcp. */
export const MESSAGES: readonly McpRow[] = [
  message('jsonrpc 1.0', { ...ping, jsonrpc: '1.0' }, 400, -32600, 'request_invalid'),
  message('jsonrpc 2', { ...ping, jsonrpc: 2 }, 400, -32600, 'request_invalid'),
  message('no jsonrpc', { id: 1, method: 'ping' }, 400, -32600, 'request_invalid'),
  message('method 5', { ...ping, method: 5 }, 400, -32600, 'request_invalid'),
  message('method null', { ...ping, method: null }, 400, -32600, 'request_invalid'),
  message('method empty', { ...ping, method: '' }, 400, -32600, 'request_invalid'),
  message('no method', { jsonrpc: '2.0', id: 1 }, 400, -32600, 'request_invalid'),
  message('Method', { jsonrpc: '2.0', id: 1, Method: 'ping' }, 400, -32600, 'request_invalid'),
  ...[
    '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a","\\u0074ext":"b"}}}',
    '[{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}]',
  ].map(text => message(`a key twice: ${text}`, text, 400, -32600, 'json_duplicate_key')),
  message('id null', { ...ping, id: null }, 400, -32600, 'request_invalid'),
  message('id an object', { ...ping, id: {} }, 400, -32600, 'request_invalid'),
  message('id true', { ...ping, id: true }, 400, -32600, 'request_invalid'),
  ...['1.5', '-0.25', '1e-3', '1.00000000000000000001', '1e400'].map(id =>
    message(`id ${id}`, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`, 400, -32600, 'request_invalid'),
  ),
  ...['1.0', '12345678901234567890', '-7', '"1.5"'].map(id =>
    message(`id ${id}`, `{"jsonrpc":"2.0","id":${id},"method":"ping"}`, 200),
  ),
  message('the longest id', { ...ping, id: LONGEST }, 200),
  message('an id of a character more', { ...ping, id: `${LONGEST}x` }, 400, -32600, 'request_invalid'),
  message('an id of 4 MB', { ...ping, id: HUGE }, 400, -32600, 'request_invalid'),
  message(
    'an id of very many digits',
    `{"jsonrpc":"2.0","id":${'9'.repeat(5_000)},"method":"ping"}`,
    ...([400, -32600, 'request_invalid'] as const),
  ),
  message('the longest progress token', { ...ping, params: { _meta: { progressToken: LONGEST } } }, 200),
  message(
    'a progress token of a character more',
    { ...ping, params: { _meta: { progressToken: `${LONGEST}x` } } },
    ...([400, -32600, 'request_invalid'] as const),
  ),
  message(
    'a cursor of 4 MB',
    { ...ping, method: 'tools/list', params: { cursor: HUGE } },
    ...([200, -32602, 'cursor_invalid'] as const),
  ),
  message('params a list', { ...ping, params: [] }, 400, -32600, 'request_invalid'),
  message('params a text', { ...ping, params: 'x' }, 400, -32600, 'request_invalid'),
  message('an unknown method', { ...ping, method: 'tools/destroy' }, 200, -32601, 'method_not_found'),
  message('a method in other letters', { ...ping, method: 'Tools/List' }, 200, -32601, 'method_not_found'),
  message('a method of Object', { ...ping, method: 'constructor' }, 200, -32601, 'method_not_found'),
  message('an unknown tool', call({ name: 'ech' }), 200, -32602, 'tool_not_found'),
  message('a tool in other letters', call({ name: 'ECHO' }), 200, -32602, 'tool_not_found'),
  message('a tool called __proto__', call({ name: '__proto__' }), 200, -32602, 'tool_not_found'),
  message('no tool name', call({}), 200, -32602, 'params_invalid'),
  message('no params', call(undefined), 200, -32602, 'params_invalid'),
  message('name 5', call({ name: 5 }), 200, -32602, 'params_invalid'),
  message('arguments "x"', call({ name: 'echo', arguments: 'x' }), 200, -32602, 'params_invalid'),
  message('arguments a list', call({ name: 'echo', arguments: [] }), 200, -32602, 'params_invalid'),
  message(
    'an unknown prompt',
    { ...ping, method: 'prompts/get', params: { name: 'none' } },
    200,
    -32602,
    'prompt_not_found',
  ),
  message(
    'an unknown resource',
    { ...ping, method: 'resources/read', params: { uri: 'none://x' } },
    200,
    -32002,
    'resource_not_found',
  ),
  message(
    'a resource address of a number',
    { ...ping, method: 'resources/read', params: { uri: 5 } },
    200,
    -32602,
    'params_invalid',
  ),
  message(
    'a cursor of nobody',
    { ...ping, method: 'tools/list', params: { cursor: 'x' } },
    200,
    -32602,
    'cursor_invalid',
  ),
  message(
    'a cursor of a number',
    { ...ping, method: 'tools/list', params: { cursor: 5 } },
    200,
    -32602,
    'params_invalid',
  ),
  message(
    'cancelling what is not there',
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } },
    202,
  ),
  message(
    'progress of nothing',
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 99, progress: 1 } },
    202,
  ),
  message('an unknown notification', { jsonrpc: '2.0', method: 'notifications/none' }, 202),
  message('an answer to nothing', { jsonrpc: '2.0', id: 99, result: {} }, 202),
  {
    what: 'a call before initialize',
    body: call({ name: 'echo' }),
    status: 400,
    rpc: -32600,
    code: 'session_required',
  },
]
