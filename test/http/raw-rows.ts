/** Requests that only an attacker or a broken client sends. */

export const JSON_TYPE = 'Content-Type: application/json'
const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='

/** Without a code the runtime answers by itself, without a body. */
interface RawRow {
  readonly what: string
  readonly line: string
  /** Header lines after `Host`, `Connection: close` and the credential of a user. */
  readonly more?: readonly string[]
  /** Header lines in place of those. */
  readonly head?: readonly string[]
  readonly body?: string
  readonly status: number
  readonly code?: string
}

const get = (what: string, target: string, status: number, code?: string): RawRow => ({
  ...{ what, line: `GET ${target} HTTP/1.1`, status },
  ...(code === undefined ? {} : { code }),
})
const post = (what: string, more: readonly string[], body: string, status: number, code?: string): RawRow => ({
  ...{ what, line: 'POST /api/groups HTTP/1.1', more, body, status },
  ...(code === undefined ? {} : { code }),
})

/** By what they are about. */
export const RAW: Readonly<Record<string, readonly RawRow[]>> = {
  'the request line': [
    get('an absolute form', 'http://127.0.0.1/health', 200),
    get('an absolute form whose authority is another one: the Host header counts', 'http://evil.example/api/none', 404),
    {
      what: 'an absolute form with a foreign Host',
      line: 'GET http://127.0.0.1/health HTTP/1.1',
      head: ['Host: evil.example', 'Connection: close'],
      status: 403,
      code: 'host_not_allowed',
    },
    { what: 'OPTIONS *', line: 'OPTIONS * HTTP/1.1', status: 400 },
    { what: 'CONNECT', line: 'CONNECT 127.0.0.1:22 HTTP/1.1', status: 404, code: 'route_not_found' },
    { what: 'OPTIONS', line: 'OPTIONS /api/servers HTTP/1.1', status: 405, code: 'method_not_allowed' },
    { what: 'OPTIONS of an unknown path', line: 'OPTIONS /api/none HTTP/1.1', status: 404, code: 'route_not_found' },
    {
      what: 'TRACE, which would echo the credential',
      line: 'TRACE /api/servers HTTP/1.1',
      status: 405,
      code: 'method_not_allowed',
    },
    {
      what: 'a method override by header',
      line: 'POST /api/servers/none HTTP/1.1',
      more: ['X-HTTP-Method-Override: DELETE'],
      status: 405,
      code: 'method_not_allowed',
    },
    { what: 'HTTP/1.0 without a Host', line: 'GET /health HTTP/1.0', head: [], status: 403, code: 'host_not_allowed' },
    { what: 'HTTP/2.0', line: 'GET /health HTTP/2.0', status: 505 },
    { what: 'HTTP/1.1 without a Host', line: 'GET /health HTTP/1.1', head: ['Connection: close'], status: 400 },
    {
      what: 'an empty Host',
      line: 'GET /health HTTP/1.1',
      head: ['Host:', 'Connection: close'],
      status: 403,
      code: 'host_not_allowed',
    },
    {
      what: 'two Hosts',
      line: 'GET /health HTTP/1.1',
      more: ['Host: 127.0.0.1'],
      status: 400,
      code: 'header_duplicate',
    },
    get('a tab', '/health\t', 505),
    get('a control character', '/hea\u0001lth', 505),
    get('a fragment', '/health#x', 400, 'path_invalid'),
    get('20,000 characters', `/api/servers/${'a'.repeat(20_000)}`, 431),
    get('9,000 characters', `/api/servers/${'a'.repeat(9_000)}`, 400, 'validation_failed'),
  ],

  'the path': [
    ...['/api/servers/', '/API/SERVERS', '/Api/servers', '/api/Servers/', '/HEALTH', '/health/', '/MCP', '/Mcp/g'].map(
      path => get(path, path, 404, 'route_not_found'),
    ),
    ...['/api/servers;x=1', '/health;jsessionid=1', '/api;/servers', '/api/servers/%3b%2F', '/%2fapi/servers'].map(
      path => get(path, path, 400, 'path_invalid'),
    ),
    ...['/api/servers/%252e%252e', '/api/servers/%25', '/api/servers/%3Ba', '/api/servers/a%7Eb'].map(path =>
      get(`${path}, which is only a name`, path, 404, 'server_not_found'),
    ),
    ...['/api//', '//', '///health', '/api/servers//', '/health//', '/mcp//g', '//mcp'].map(path =>
      get(path, path, 400),
    ),
    ...['/api/servers/%u0041', '/api/servers/%e0%80%af', '/api/servers/%ed%a0%80', '/api/servers/%f8%88%80%80%80'].map(
      path => get(path, path, 400, 'path_invalid'),
    ),
    get('dot segments that lead out', '/../../../etc/passwd', 404, 'route_not_found'),
    get('a route below another one', '/api/servers/../admin/users', 403, 'admin_only'),
  ],

  'the query': [
    get('an escape that is none', '/api/servers?q=%zz', 400, 'validation_failed'),
    get('half an escape', '/api/servers?q=%', 400, 'validation_failed'),
    get('bytes that are not UTF-8', '/api/servers?q=%ff', 400, 'validation_failed'),
    get('an overlong slash', '/api/servers?q=%c0%af', 400, 'validation_failed'),
    get('half a surrogate pair', '/api/servers?q=%ed%a0%80', 400, 'validation_failed'),
    get('NUL', '/api/servers?q=a%00b', 400, 'validation_failed'),
    get('NUL in a name', '/api/servers?%00=1', 400, 'validation_failed'),
    get('NUL for the store to look for', '/api/servers?owner=%00', 400, 'validation_failed'),
    get('an array', '/api/servers?limit[]=1', 400, 'validation_failed'),
    get('an object', '/api/servers?limit[$gt]=1', 400, 'validation_failed'),
    get('one parameter twice', '/api/servers?sort=name&sort=-name', 400, 'validation_failed'),
    get('a parameter where none is taken', '/api/limits?x=1', 400, 'validation_failed'),
    get('a parameter without a name', '/api/servers?=1', 400, 'validation_failed'),
    get('3,000 parameters', `/api/servers?${'a=1&'.repeat(3_000)}`, 400, 'validation_failed'),
    get('two question marks', '/api/limits??', 200),
    get('nothing behind the question mark', '/api/limits?', 200),
    ...[
      '+1',
      '%2B1',
      '0x10',
      '1_0',
      '%EF%BC%91',
      'Infinity',
      'NaN',
      '1e',
      '--1',
      '1,0',
      '1%20',
      'true',
      '9'.repeat(400),
    ].map(limit => get(`limit=${limit.slice(0, 20)}`, `/api/servers?limit=${limit}`, 400, 'validation_failed')),
  ],

  'the head': [
    { what: 'a space before the colon', line: 'GET /health HTTP/1.1', more: ['X-A : b'], status: 400 },
    { what: 'a folded line', line: 'GET /health HTTP/1.1', more: ['X-A: b\r\n c'], status: 400 },
    { what: 'NUL', line: 'GET /health HTTP/1.1', more: ['X-A: b\0c'], status: 400 },
    { what: 'a name with a space', line: 'GET /health HTTP/1.1', more: ['X A: b'], status: 400 },
    { what: 'a line without a colon', line: 'GET /health HTTP/1.1', more: ['X-A'], status: 400 },
    { what: 'Latin 1', line: 'GET /health HTTP/1.1', more: ['X-A: ÿ'], status: 200 },
    { what: '64 KiB in one line', line: 'GET /health HTTP/1.1', more: [`X-A: ${'x'.repeat(65_536)}`], status: 431 },
    {
      what: '65 lines',
      line: 'GET /health HTTP/1.1',
      more: Array.from({ length: 65 }, (_, at) => `X-${at}: v`),
      status: 431,
      code: 'headers_too_large',
    },
    {
      what: 'forwarding headers of a stranger, with a foreign host',
      line: 'GET /api/auth/me HTTP/1.1',
      more: ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: gopher', 'X-Forwarded-For: 127.0.0.1'],
      status: 200,
    },
    {
      what: 'Origin of another port',
      line: 'GET /health HTTP/1.1',
      more: ['Origin: http://evil.example:80'],
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      what: 'two Origins',
      line: 'GET /health HTTP/1.1',
      more: ['Origin: http://localhost', 'Origin: http://localhost'],
      status: 400,
      code: 'header_duplicate',
    },
    {
      what: 'If-Match that is no revision, on reading',
      line: 'GET /api/servers HTTP/1.1',
      more: ['If-Match: "x"'],
      status: 200,
    },
    { what: 'a range', line: 'GET /api/openapi.json HTTP/1.1', more: ['Range: bytes=0-1'], status: 200 },
    {
      what: 'h2c',
      line: 'GET /health HTTP/1.1',
      head: ['Host: 127.0.0.1', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMA'],
      status: 200,
    },
  ],

  'an upgrade': [
    { what: 'of a path that is no WebSocket', line: 'GET /health HTTP/1.1', more: [...UPGRADE, KEY], status: 200 },
    { what: 'without a key', line: 'GET /api/stream HTTP/1.1', more: UPGRADE, status: 426, code: 'upgrade_required' },
    {
      what: 'with a short key',
      line: 'GET /api/stream HTTP/1.1',
      more: [...UPGRADE, 'Sec-WebSocket-Key: x'],
      status: 426,
      code: 'upgrade_required',
    },
    {
      what: 'of version 8',
      line: 'GET /api/stream HTTP/1.1',
      more: ['Connection: Upgrade', 'Upgrade: websocket', KEY, 'Sec-WebSocket-Version: 8'],
      status: 426,
    },
    {
      what: 'by POST',
      line: 'POST /api/stream HTTP/1.1',
      more: [...UPGRADE, KEY],
      status: 405,
      code: 'method_not_allowed',
    },
    {
      what: 'with an unknown topic',
      line: 'GET /api/stream?topics=secrets HTTP/1.1',
      more: [...UPGRADE, KEY],
      status: 400,
      code: 'validation_failed',
    },
    {
      what: 'from a foreign Origin',
      line: 'GET /api/stream HTTP/1.1',
      more: [...UPGRADE, KEY, 'Origin: http://evil.example'],
      status: 403,
      code: 'origin_not_allowed',
    },
    {
      what: 'with a token in the URL',
      line: 'GET /api/stream?token=x HTTP/1.1',
      more: [...UPGRADE, KEY],
      status: 400,
      code: 'token_in_url',
    },
    {
      what: 'of an unknown path',
      line: 'GET /api/none HTTP/1.1',
      more: [...UPGRADE, KEY],
      status: 404,
      code: 'route_not_found',
    },
    { what: 'of an MCP path', line: 'GET /mcp HTTP/1.1', head: ['Host: 127.0.0.1', ...UPGRADE, KEY], status: 401 },
  ],

  'the framing of a body': [
    post('Expect: 200-ok', [JSON_TYPE, 'Expect: 200-ok', 'Content-Length: 2'], '{}', 400, 'validation_failed'),
    post(
      'Transfer-Encoding: gzip, chunked',
      [JSON_TYPE, 'Transfer-Encoding: gzip, chunked'],
      '2\r\n{}\r\n0\r\n\r\n',
      400,
    ),
    post('Transfer-Encoding: identity', [JSON_TYPE, 'Transfer-Encoding: identity'], '{}', 400),
    post('Transfer-Encoding: xchunked', [JSON_TYPE, 'Transfer-Encoding: xchunked'], '2\r\n{}\r\n0\r\n\r\n', 400),
    post(
      'Content-Length and Transfer-Encoding',
      [JSON_TYPE, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
      '2\r\n{}\r\n0\r\n\r\n',
      400,
    ),
    ...['+2', '0x2', '-2', '2, 3', '2 2', '99999999999999999999', '1e1', 'two'].map(length =>
      post(`Content-Length: ${length}`, [JSON_TYPE, `Content-Length: ${length}`], '{}', 400),
    ),
    post('two lengths that differ', [JSON_TYPE, 'Content-Length: 2', 'Content-Length: 3'], '{}', 400),
    post('two types', [JSON_TYPE, 'Content-Type: text/plain', 'Content-Length: 2'], '{}', 400, 'header_duplicate'),
    post('no type', ['Content-Length: 2'], '{}', 415, 'content_type'),
    post('an empty type', ['Content-Type:', 'Content-Length: 2'], '{}', 415, 'content_type'),
    ...[
      'application/json; charset=utf-16',
      'application/json;charset=',
      'text/json',
      'application/jsonp',
      'application/x-www-form-urlencoded',
      'application/ld json',
      '*/*',
    ].map(type => post(type, [`Content-Type: ${type}`, 'Content-Length: 2'], '{}', 415, 'content_type')),
    ...['Application/JSON ; charset="UTF-8"', 'application/json;charset=utf8', 'application/merge-patch+json'].map(
      type =>
        post(`${type}, which is JSON`, [`Content-Type: ${type}`, 'Content-Length: 2'], '{}', 400, 'validation_failed'),
    ),
    ...['gzip', 'br', 'deflate', 'GZIP', 'identity, gzip', 'x'].map(encoding =>
      post(
        `Content-Encoding: ${encoding}`,
        [JSON_TYPE, `Content-Encoding: ${encoding}`, 'Content-Length: 2'],
        '{}',
        415,
        'encoding_not_supported',
      ),
    ),
    post('no bytes at all', [JSON_TYPE, 'Content-Length: 0'], '', 400, 'json_empty'),
    post('an empty chunk alone', [JSON_TYPE, 'Transfer-Encoding: chunked'], '0\r\n\r\n', 400, 'json_empty'),
    post('trailers', [JSON_TYPE, 'Transfer-Encoding: chunked'], '2\r\n{}\r\n0\r\nX-A: b\r\n\r\n', 400),
    {
      what: 'a body on GET',
      line: 'GET /api/servers HTTP/1.1',
      more: [JSON_TYPE, 'Content-Length: 1'],
      body: '{',
      status: 200,
    },
    {
      what: 'a broken body on a route without one',
      line: 'DELETE /api/servers/none HTTP/1.1',
      more: [JSON_TYPE, 'Content-Length: 1'],
      body: '{',
      status: 404,
      code: 'server_not_found',
    },
  ],
}
