import { answered, LONG, type Row, type Table, tableOf, UPSTREAM, wrong } from './rows.ts'

const SERVERS = ['POST', '/api/servers'] as const
const GROUPS = ['POST', '/api/groups'] as const
const OWN = ['PATCH', '/api/settings'] as const
const server = (what: string, more: object, ...fields: string[]): Row =>
  wrong(SERVERS, what, { name: 'n', url: UPSTREAM, enabled: false, ...more }, ...fields)
/** The text as it is, since a program would not write it so. */
const text = (what: string, body: string, ...fields: string[]): Row => ({
  ...{ what, method: 'POST', path: '/api/servers', body, status: 400, code: 'validation_failed', fields },
})
const timeout = (value: string, code: string): Row =>
  text(`timeout ${value}`, `{"name":"n","url":"${UPSTREAM}","timeout":${value}}`, `${code} #/timeout`)

const PUT = ['PUT', '/api/servers/own'] as const
const stale = (what: string, match: string, [method, path]: readonly [string, string] = PUT): Row => ({
  ...answered(
    [method, path],
    what,
    method === 'DELETE' ? undefined : { name: 'own', url: UPSTREAM },
    412,
    'version_conflict',
  ),
  headers: { 'if-match': match },
})

/** Values that JSON can express and no program would send. */
export const ODD: readonly Table[] = [
  tableOf('numbers that JSON can write', 'alice', [
    ...['1e999', '-1e999', '-0', '0.0', '1e-400', '100000000000000000000000000000001', '-1'].map(value =>
      timeout(value, 'range'),
    ),
    ...['1.5', '"1"', 'true', '[1]', '{}', 'null'].map(value => timeout(value, 'type')),
    {
      ...answered(SERVERS, 'timeout 5.0, which is whole', undefined, 201),
      body: `{"name":"five","url":"${UPSTREAM}","timeout":5.0,"enabled":false}`,
    },
    ...['01', '+1', '.5', '1.', '0x10', 'Infinity', '1_000'].map(
      (value): Row => ({
        ...answered(SERVERS, `timeout ${value}`, undefined, 400, 'json_invalid'),
        body: `{"timeout":${value}}`,
      }),
    ),
  ]),
  tableOf('texts that JSON can write', 'alice', [
    server('NUL in a description', { description: 'a\0b' }, 'format #/description'),
    server('half a surrogate pair in a description', { description: 'a\ud800' }, 'format #/description'),
    server('NUL in a variable', { variables: { A: '\0' } }, 'format #/variables/A'),
    server('half a surrogate pair in a variable', { variables: { A: '\udfff' } }, 'format #/variables/A'),
    answered(
      SERVERS,
      'a variable name of 9,000',
      { name: 's', url: UPSTREAM, variables: { [LONG]: 'x' } },
      400,
      'json_too_large',
    ),
    answered(
      SERVERS,
      'a tool name of 10,000',
      { name: 's', url: UPSTREAM, tools: { [LONG]: {} } },
      400,
      'json_too_large',
    ),
    server('NUL in a tool’s description', { tools: { a: { description: '\0' } } }, 'format #/tools/a/description'),
    server('NUL in a check', { healthCheck: { endpoints: { ping: '\0' } } }, 'format #/healthCheck/endpoints/ping'),
    server('half a surrogate pair in a url', { url: 'https://\ud800.example/' }, 'url_invalid #/url'),
    server('half a surrogate pair behind the host', { url: 'https://a.example/\ud800' }, 'url_invalid #/url'),
    server('half a surrogate pair in a header', { headers: { 'x-a': '\ud800' } }, 'header_value #/headers/x-a'),
    server('a pointer with a bad escape', { secrets: ['/headers/~2'] }, 'format #/secrets/0'),
    server('a pointer with half an escape', { secrets: ['/headers/~'] }, 'format #/secrets/0'),
    server(
      'a header of 9,000 to pass on',
      { passthroughHeaders: ['x'.repeat(9_000)] },
      'header_name #/passthroughHeaders/0',
    ),
    server(
      '65 headers to pass on',
      { passthroughHeaders: Array.from({ length: 65 }, (_, at) => `x-${at}`) },
      'headers_too_large #/passthroughHeaders',
    ),
    ...[
      'https://a.example:0/',
      'https://a..example/',
      'https://.a.example/',
      'https://xn--/',
      `https://${'a'.repeat(64)}.example/`,
      `https://${'a.'.repeat(130)}example/`,
      'https://a.example:-1/',
      'https://a.example:1e3/',

      'https://?',
      'https://#',
    ].map(url => server(url.slice(0, 40), { url }, 'url_invalid #/url')),
    wrong(GROUPS, 'NUL in a group’s description', { name: 'g', description: '\0' }, 'format #/description'),
    wrong(GROUPS, 'half a surrogate pair in it', { name: 'g', description: '\udc00' }, 'format #/description'),
    wrong(GROUPS, 'a member of NUL', { name: 'g', members: ['\0'] }, 'member_not_found #/members/0'),
    wrong(GROUPS, 'a member of half a pair', { name: 'g', members: ['\ud800'] }, 'member_not_found #/members/0'),
    wrong(
      ['POST', '/api/keys'],
      'a group of NUL',
      { label: 'k', scopes: [{ group: '\0' }] },
      'member_not_found #/scopes/0/group',
    ),
    wrong(['POST', '/api/keys'], '1,000 scopes', { label: 'k', scopes: Array(1_000).fill('mcp') }, 'length #/scopes'),
    wrong(['POST', '/api/keys'], 'a right-to-left label', { label: '\u202ek' }, 'format #/label'),
    ...['2999-01-01T24:00:00Z', '+275760-09-13T00:00:00.000Z', '', '1e12', '2999-13-01T00:00:00Z'].map(expiresAt =>
      wrong(['POST', '/api/keys'], `until ${expiresAt}`, { label: 'k', expiresAt }, 'timestamp #/expiresAt'),
    ),
    answered(
      ['POST', '/api/auth/login'],
      'a user name of NUL',
      { username: '\0', password: LONG },
      401,
      'login_failed',
    ),
  ]),
  tableOf('hosted keys', 'alice', [
    ...['a\nb', 'a b', ' a', 'é', '\0', 'a\u202e', '\ud800'].map(key =>
      wrong(OWN, JSON.stringify(key), { hostedKeys: { modelscope: key } }, 'key_invalid #/hostedKeys/modelscope'),
    ),
    wrong(OWN, 'a mask', { hostedKeys: { modelscope: '••••1f3c' } }, 'secret_mask #/hostedKeys/modelscope'),
    wrong(OWN, '10,000 characters', { hostedKeys: { modelscope: LONG } }, 'length #/hostedKeys/modelscope'),
    wrong(OWN, 'one good, one bad', { hostedKeys: { a: 'good-key', b: 'a b' } }, 'key_invalid #/hostedKeys/b'),
  ]),
  tableOf('If-Match', 'alice', [
    ...[
      '"77"',
      '"1',
      '1',
      '"01"',
      '"-1"',
      '"1.0"',
      '"0"',
      'W/"1"',
      '"1", "2"',
      'x',
      '""',
      '"99999999999999999999"',
    ].map(match => stale(`of ${match}`, match)),
    stale('on deleting', '"77"', ['DELETE', '/api/servers/own']),
    stale('on deleting a group', '"x"', ['DELETE', '/api/groups/own']),
  ]),
  tableOf('commands', 'admin', [
    ...[
      ['half a surrogate pair in an argument', { args: ['\ud800'] }, 'command_invalid #/args/0'],
      ['half a surrogate pair in a command', { command: 'c\ud800' }, 'command_invalid #/command'],
      ['half a surrogate pair in a variable', { env: { A: '\udc00' } }, 'env_value_invalid #/env/A'],
      ['half a surrogate pair in a name', { env: { '\udc00': '' } }, 'env_key_invalid #/env/⟨U+DC00⟩'],
      ['a tab in a name', { env: { 'A\tB': '' } }, 'env_key_invalid #/env/A\tB'],
      ['a backslash path that climbs', { command: 'a\\..\\b' }, 'command_invalid #/command'],
      ['an empty cwd', { cwd: '' }, 'format #/cwd'],
      ['NUL in a cwd', { cwd: '/\0' }, 'format #/cwd'],
    ].map(([what, more, field]) =>
      wrong(SERVERS, String(what), { name: 'n', command: 'cat', enabled: false, ...(more as object) }, String(field)),
    ),
  ]),
]
