import { PASSWORD } from '../support/hub.ts'
import { answered, LONG, tablesOfTown, wrong } from './rows.ts'

const table = tablesOfTown()

const KEYS = ['POST', '/api/keys'] as const
table('access keys', 'alice', [
  wrong(KEYS, 'no label', {}, 'required #/label'),
  wrong(KEYS, 'an empty label', { label: '' }, 'length #/label'),
  wrong(KEYS, 'a long label', { label: LONG }, 'length #/label'),
  wrong(KEYS, 'a label with LF', { label: 'a\nb' }, 'format #/label'),
  wrong(KEYS, 'no scopes', { label: 'k', scopes: [] }, 'length #/scopes'),
  wrong(KEYS, 'scope all', { label: 'k', scopes: ['all'] }, 'enum #/scopes/0'),
  wrong(KEYS, 'scope 5', { label: 'k', scopes: [5] }, 'type #/scopes/0'),
  wrong(KEYS, 'scope of two', { label: 'k', scopes: [{ group: 'own', server: 'own' }] }, 'type #/scopes/0'),
  wrong(
    KEYS,
    'a group nobody has',
    { label: 'k', scopes: ['mcp', { group: 'none' }] },
    'member_not_found #/scopes/1/group',
  ),
  wrong(
    KEYS,
    'a server that is not visible',
    { label: 'k', scopes: [{ server: 'bob~hidden' }] },
    'member_not_found #/scopes/0/server',
  ),
  wrong(KEYS, 'expired', { label: 'k', expiresAt: '2020-01-01T00:00:00Z' }, 'range #/expiresAt'),
  wrong(KEYS, 'tomorrow', { label: 'k', expiresAt: 'tomorrow' }, 'timestamp #/expiresAt'),
  wrong(KEYS, 'the 31st of February', { label: 'k', expiresAt: '2999-02-31T00:00:00Z' }, 'timestamp #/expiresAt'),
  wrong(KEYS, 'a time of no zone', { label: 'k', expiresAt: '2999-01-31T00:00:00' }, 'timestamp #/expiresAt'),
  wrong(KEYS, 'a number', { label: 'k', expiresAt: 99999999999999 }, 'type #/expiresAt'),
  wrong(KEYS, 'an odd field', { label: 'k', secret: 'pb_mine' }, 'unknown_field #/secret'),
  answered(['DELETE', '/api/keys/none'], 'an unknown key', undefined, 404, 'key_not_found'),
  answered(['POST', '/api/keys/none/rotate'], 'an unknown key', undefined, 404, 'key_not_found'),
  answered(['GET', '/api/keys?owner=bob'], 'keys of another', undefined, 404, 'user_not_found'),
])

table('own settings', 'alice', [
  wrong(['PATCH', '/api/settings'], 'language tlh', { language: 'tlh' }, 'enum #/language'),
  wrong(['PATCH', '/api/settings'], 'theme 5', { theme: 5 }, 'type #/theme'),
  wrong(['PATCH', '/api/settings'], 'colour', { colour: 'red' }, 'unknown_field #/colour'),
  wrong(['PATCH', '/api/settings'], 'hostedKeys of a list', { hostedKeys: [] }, 'type #/hostedKeys'),
  wrong(
    ['PATCH', '/api/settings'],
    'an empty hosted key',
    { hostedKeys: { modelscope: '' } },
    'length #/hostedKeys/modelscope',
  ),
  wrong(
    ['PATCH', '/api/settings'],
    'a hosted key of an object',
    { hostedKeys: { modelscope: {} } },
    'type #/hostedKeys/modelscope',
  ),
  wrong(
    ['PATCH', '/api/settings'],
    'a platform of odd letters',
    { hostedKeys: { 'A B': 'x' } },
    'format #/hostedKeys/A B',
  ),
])

table('lists', 'alice', [
  ...['/api/servers', '/api/groups', '/api/keys'].flatMap(path => [
    wrong(['GET', `${path}?limit=0`], `${path} limit 0`, undefined, 'range ?limit'),
    wrong(['GET', `${path}?limit=-1`], `${path} limit -1`, undefined, 'range ?limit'),
    wrong(['GET', `${path}?limit=1e9`], `${path} limit 1e9`, undefined, 'type ?limit'),
    wrong(['GET', `${path}?limit=abc`], `${path} limit abc`, undefined, 'type ?limit'),
    wrong(['GET', `${path}?limit=`], `${path} limit empty`, undefined, 'type ?limit'),
    wrong(['GET', `${path}?limit=1&limit=2`], `${path} limit twice`, undefined, 'duplicate ?limit'),
    wrong(['GET', `${path}?limit=1.5`], `${path} limit 1.5`, undefined, 'type ?limit'),
    wrong(['GET', `${path}?__proto__=1`], `${path} __proto__`, undefined, 'unknown_field ?__proto__'),
  ]),
  wrong(['GET', '/api/servers?sort=colour'], 'sort colour', undefined, 'sort_field ?sort'),
  wrong(['GET', '/api/servers?scope=theirs'], 'scope theirs', undefined, 'enum ?scope'),
  answered(['GET', '/api/servers?scope=all'], 'scope all', undefined, 403, 'admin_only'),
  answered(['GET', '/api/servers?group=none'], 'of an unknown group', undefined, 404, 'group_not_found'),
  answered(['GET', '/api/servers?owner=bob'], 'of another owner', undefined, 200),
  answered(['GET', '/api/servers?q=%25&offset=9007199254740991'], 'a percent sign, far away', undefined, 200),
  answered(['GET', '/api/stream?topics=secrets'], 'an unknown topic', undefined, 400, 'validation_failed'),
])

const USERS = ['POST', '/api/admin/users'] as const
table('people', 'admin', [
  wrong(USERS, 'no name', { password: PASSWORD }, 'required #/username'),
  wrong(USERS, 'no password', { username: 'u' }, 'required #/password'),
  wrong(USERS, 'nothing', {}, 'required #/password', 'required #/username'),
  wrong(
    USERS,
    'two names and an odd role',
    { username: 'u', name: 'v', password: PASSWORD, role: 'root' },
    'enum #/role',
    'ambiguous #/username',
  ),
  wrong(USERS, 'name of an object', { username: { $ne: 1 }, password: PASSWORD }, 'type #/username'),
  wrong(USERS, 'name 300 long', { username: 'u'.repeat(300), password: PASSWORD }, 'name_invalid #/username'),
  wrong(USERS, 'a space at the end', { username: 'u ', password: PASSWORD }, 'name_invalid #/username'),
  wrong(USERS, 'a space within', { username: 'u u', password: PASSWORD }, 'name_invalid #/username'),
  wrong(USERS, '@', { username: '@u', password: PASSWORD }, 'name_reserved #/username'),
  wrong(USERS, 'a short password', { username: 'u', password: 'short' }, 'password_weak #/password'),
  wrong(USERS, 'a common password', { username: 'u', password: 'password123456' }, 'password_weak #/password'),
  wrong(
    USERS,
    'the name in the password',
    { username: 'charlotte', password: 'Charlotte is my name' },
    'password_weak #/password',
  ),
  wrong(USERS, 'a password of 257', { username: 'u', password: 'p1-'.repeat(86) }, 'length #/password'),
  wrong(
    USERS,
    'both at once',
    { username: 'u ', password: 'short' },
    'name_invalid #/username',
    'password_weak #/password',
  ),
  wrong(USERS, 'role root', { username: 'u', password: PASSWORD, role: 'root' }, 'enum #/role'),
  wrong(USERS, 'an odd field', { username: 'u', password: PASSWORD, isAdmin: true }, 'unknown_field #/isAdmin'),
  {
    ...answered(USERS, 'taken in other letters', { username: 'ALICE', password: PASSWORD }, 409, 'username_taken'),
    fields: ['duplicate #/username'],
  },
  {
    ...answered(
      ['PATCH', '/api/admin/users/bob'],
      'renamed to one that is taken',
      { name: 'Alice' },
      409,
      'username_taken',
    ),
    fields: ['duplicate #/name'],
  },
  answered(['PATCH', '/api/admin/users/none'], 'an unknown user', { disabled: true }, 404, 'user_not_found'),
  wrong(['PATCH', '/api/admin/users/bob'], 'disabled "yes"', { disabled: 'yes' }, 'type #/disabled'),
  wrong(['PATCH', '/api/admin/users/bob'], 'role null', { role: null }, 'type #/role'),
  answered(
    ['PATCH', '/api/admin/users/admin'],
    'the last administrator disabled',
    { disabled: true },
    409,
    'last_admin',
  ),
  answered(['PATCH', '/api/admin/users/admin'], 'the last administrator demoted', { role: 'user' }, 409, 'last_admin'),
  answered(['DELETE', '/api/admin/users/admin'], 'the last administrator removed', undefined, 409, 'last_admin'),
  answered(['DELETE', '/api/admin/users/bob'], 'an owner of things', undefined, 409, 'user_owns_resources'),
  wrong(['DELETE', '/api/admin/users/bob?transferTo=none'], 'to nobody', undefined, 'enum ?transferTo'),
  wrong(['DELETE', '/api/admin/users/bob?transferTo=BOB'], 'to itself', undefined, 'enum ?transferTo'),
  wrong(['DELETE', '/api/admin/users/bob?cascade=yes'], 'cascade yes', undefined, 'enum ?cascade'),
  wrong(
    ['DELETE', '/api/admin/users/bob?cascade=true&transferTo=alice'],
    'cascade and transferTo',
    undefined,
    'ambiguous ?transferTo',
  ),
  wrong(['GET', '/api/admin/audit?limit=x'], 'audit limit x', undefined, 'type ?limit'),
  answered(['DELETE', '/api/admin/sessions/none'], 'an unknown session', undefined, 404, 'session_not_found'),
  answered(['PATCH', '/api/admin/plugins/none'], 'an unknown plugin', { enabled: false }, 404, 'plugin_not_found'),
  wrong(['PATCH', '/api/admin/settings'], 'workers 0', { workers: 0 }, 'range #/workers'),
  wrong(['PATCH', '/api/admin/settings'], 'workers "3"', { workers: '3' }, 'type #/workers'),
  wrong(['PATCH', '/api/admin/settings'], 'logLevel loud', { logLevel: 'loud' }, 'enum #/logLevel'),
  wrong(['PATCH', '/api/admin/settings'], 'publicUrl ftp', { publicUrl: 'ftp://a.example' }, 'format #/publicUrl'),
  wrong(['PATCH', '/api/admin/settings'], 'jwtSecret', { jwtSecret: LONG }, 'unknown_field #/jwtSecret'),
  wrong(
    ['PATCH', '/api/admin/settings'],
    'adminAddresses of words',
    { adminAddresses: ['home'] },
    'format #/adminAddresses',
  ),
])

table('what only administrators do', 'alice', [
  answered(USERS, 'making a user', { username: 'u', password: PASSWORD }, 403, 'admin_only'),
  answered(['PATCH', '/api/admin/users/alice'], 'taking the role', { role: 'admin' }, 403, 'admin_only'),
  answered(['GET', '/api/admin/users/none'], 'asking for a user', undefined, 403, 'admin_only'),
  answered(['GET', '/api/admin/audit'], 'reading the audit', undefined, 403, 'admin_only'),
  answered(['PATCH', '/api/admin/settings'], 'settings of the system', { logLevel: 'debug' }, 403, 'admin_only'),
])
