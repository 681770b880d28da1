import { afterAll, beforeAll } from 'bun:test'
import { answered, openTown, type Town, table, UPSTREAM, wrong } from './rows.ts'

const LONG = 'x'.repeat(10_000)
let town: Town

beforeAll(async () => {
  town = await openTown()
}, 30_000)
afterAll(() => town?.hub.stop(), 40_000)

const GROUPS = ['POST', '/api/groups'] as const
table('groups', () => ({ hub: town.hub, caller: town.alice }), [
  wrong(GROUPS, 'no name', {}, 'required #/name'),
  wrong(GROUPS, 'a/b', { name: 'a/b' }, 'name_invalid #/name'),
  wrong(GROUPS, '__proto__', { name: '__proto__' }, 'name_invalid #/name'),
  wrong(GROUPS, '$x', { name: '$x' }, 'name_reserved #/name'),
  wrong(GROUPS, 'name 5', { name: 5 }, 'type #/name'),
  wrong(GROUPS, 'members "x"', { name: 'g', members: 'x' }, 'type #/members'),
  wrong(GROUPS, 'members of numbers', { name: 'g', members: [5, null] }, 'type #/members/0', 'type #/members/1'),
  wrong(GROUPS, 'a member nobody has', { name: 'g', members: ['own', 'none'] }, 'member_not_found #/members/1'),
  wrong(GROUPS, 'a member that is not visible', { name: 'g', members: ['bob~hidden'] }, 'member_not_found #/members/0'),
  wrong(GROUPS, 'a member twice', { name: 'g', members: ['own', 'OWN'] }, 'duplicate #/members/1'),
  wrong(
    GROUPS,
    'a member twice, once by its full name',
    { name: 'g', members: ['own', { server: 'alice~own' }] },
    'duplicate #/members/1/server',
  ),
  wrong(GROUPS, 'a member without a server', { name: 'g', members: [{}] }, 'required #/members/0/server'),
  wrong(
    GROUPS,
    'an odd member field',
    { name: 'g', members: [{ server: 'own', tool: 'all' }] },
    'unknown_field #/members/0/tool',
  ),
  wrong(GROUPS, 'tools some', { name: 'g', members: [{ server: 'own', tools: 'some' }] }, 'enum #/members/0/tools'),
  wrong(GROUPS, 'tools 5', { name: 'g', members: [{ server: 'own', tools: 5 }] }, 'type #/members/0/tools'),
  wrong(
    GROUPS,
    'a tool twice',
    { name: 'g', members: [{ server: 'own', tools: ['a', 'a'] }] },
    'duplicate #/members/0/tools',
  ),
  wrong(
    GROUPS,
    'a tool without a name',
    { name: 'g', members: [{ server: 'own', tools: [{ as: 'a' }] }] },
    'required #/members/0/tools/0/name',
  ),
  wrong(
    GROUPS,
    'an alias with a slash',
    { name: 'g', members: [{ server: 'own', alias: 'a/b' }] },
    'name_invalid #/members/0/alias',
  ),
  wrong(GROUPS, 'members and servers differ', { name: 'g', members: ['own'], servers: [] }, 'ambiguous #/servers'),
  wrong(GROUPS, 'naming short', { name: 'g', naming: 'short' }, 'enum #/naming'),
  wrong(GROUPS, 'visibility secret', { name: 'g', visibility: 'secret' }, 'enum #/visibility'),
  wrong(GROUPS, 'resultLimit 0', { name: 'g', resultLimit: 0 }, 'range #/resultLimit'),
  wrong(GROUPS, 'description 10,000 long', { name: 'g', description: LONG }, 'length #/description'),
  wrong(GROUPS, 'member', { name: 'g', member: [] }, 'unknown_field #/member'),
  answered(GROUPS, 'taken in other letters', { name: 'OWN' }, 409, 'group_name_taken'),
  answered(
    GROUPS,
    'two members of one alias',
    {
      name: 'g',
      members: [
        { server: 'own', alias: 'A' },
        { server: 'second', alias: 'a' },
      ],
    },
    409,
    'name_taken',
  ),
  answered(
    GROUPS,
    '501 members',
    { name: 'g', members: Array.from({ length: 501 }, (_, at) => `m${at}`) },
    409,
    'quota_members',
  ),
  answered(GROUPS, 'another owner', { name: 'g', owner: 'bob' }, 403, 'field_forbidden'),
  answered(['PUT', '/api/groups/own/members/none'], 'a member nobody has', {}, 404, 'server_not_found'),
  answered(['PUT', '/api/groups/own/members/bob~hidden'], 'a member that is not visible', {}, 404, 'server_not_found'),
  wrong(
    ['PUT', '/api/groups/own/members/second'],
    'a member with an odd field',
    { server: 'x' },
    'unknown_field #/server',
  ),
  answered(
    ['DELETE', '/api/groups/own/members/second'],
    'taking out what is not in',
    undefined,
    404,
    'server_not_found',
  ),
  answered(['PATCH', '/api/groups/open'], 'one that is public only', { description: 'x' }, 403, 'not_owner'),
  answered(['DELETE', '/api/groups/bob~open'], 'one that is public only', undefined, 403, 'not_owner'),
  wrong(['PATCH', '/api/groups/own'], 'name null', { name: null }, 'required #/name'),
  wrong(['PUT', '/api/groups/open'], 'a bad body for one of another', { name: 'a/b' }, 'name_invalid #/name'),
  wrong(['GET', '/api/groups/own/client-config?client=emacs'], 'an unknown client', undefined, 'enum ?client'),
])

table('changes of a server', () => ({ hub: town.hub, caller: town.alice }), [
  wrong(['PATCH', '/api/servers/own'], 'name null', { name: null }, 'required #/name'),
  wrong(['PATCH', '/api/servers/own'], 'url null', { url: null }, 'transport_missing #/transport'),
  wrong(['PATCH', '/api/servers/own'], 'url a list', { url: [] }, 'type #/url'),
  wrong(['PATCH', '/api/servers/own'], 'headers a text', { headers: 'x' }, 'type #/headers'),
  wrong(
    ['PATCH', '/api/servers/own'],
    'a header value of an object',
    { headers: { 'x-kept': {} } },
    'type #/headers/x-kept',
  ),
  wrong(['PATCH', '/api/servers/own'], 'an odd field', { colour: 'red' }, 'unknown_field #/colour'),
  wrong(['PATCH', '/api/servers/own'], 'nested, wrong inside', { config: { timeout: 0 } }, 'range #/config/timeout'),
  answered(['PATCH', '/api/servers/own'], 'null for what is not there', { description: null, colour: null }, 200),
  answered(['PATCH', '/api/servers/own'], 'nothing', {}, 200),
  answered(['PATCH', '/api/servers/own'], 'a name that is taken', { name: 'Second' }, 409, 'server_name_taken'),
  answered(['PATCH', '/api/servers/own'], 'another owner', { owner: 'bob' }, 403, 'field_forbidden'),
  answered(['PATCH', '/api/servers/own'], 'its own owner', { owner: 'alice' }, 200),
  answered(['PATCH', '/api/servers/open'], 'one that is public only', { description: 'x' }, 403, 'not_owner'),
  answered(
    ['PATCH', '/api/servers/bob~hidden'],
    'one that is not visible',
    { description: 'x' },
    404,
    'server_not_found',
  ),
  answered(['PATCH', '/api/servers/own~'], 'an owner without a name', { description: 'x' }, 404, 'server_not_found'),
  answered(['PATCH', '/api/servers/~own'], 'a name without its owner', { description: 'x' }, 404, 'server_not_found'),
  answered(['GET', `/api/servers/${'n'.repeat(256)}`], 'a name of 256 characters', undefined, 404, 'server_not_found'),
  wrong(['GET', `/api/servers/${'n'.repeat(257)}`], 'a name of 257 characters', undefined, 'length {ref}'),
  wrong(['POST', '/api/servers/own/start?wait=soon'], 'wait soon', undefined, 'duration ?wait'),
  wrong(['POST', '/api/servers/own/start?wait=-1s'], 'wait -1s', undefined, 'duration ?wait'),
  wrong(['POST', '/api/servers/own/start?wait=61s'], 'wait 61s', undefined, 'range ?wait'),
  wrong(['GET', '/api/servers/own/logs?stream=stdout'], 'stdout', undefined, 'enum ?stream'),
  wrong(['POST', '/api/servers/own/tools/t/call'], 'arguments "x"', { arguments: 'x' }, 'type #/arguments'),
  answered(['POST', '/api/servers/own/tools/t/call'], 'a call of what is off', {}, 503, 'server_offline'),
  wrong(['PATCH', '/api/servers/own/tools/none'], 'enabled "no"', { enabled: 'no' }, 'type #/enabled'),
  wrong(['POST', '/api/servers/batch'], 'no entries', { servers: [] }, 'length #/servers'),
  wrong(['POST', '/api/servers/batch'], '201 entries', { servers: Array(201).fill({}) }, 'length #/servers'),
  wrong(['POST', '/api/servers/batch'], 'entries of texts', { servers: ['x'] }, 'type #/servers/0'),
  answered(
    ['POST', '/api/servers/batch'],
    'one name twice',
    {
      servers: [
        { name: 'b1', url: UPSTREAM, enabled: false },
        { name: 'B1', url: UPSTREAM },
      ],
    },
    207,
  ),
])
