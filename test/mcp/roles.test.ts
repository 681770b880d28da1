/**
 * Each method of MCP, in both eras, by everybody with and without a role on a shared server or group, and with each kind of
 * credential: an answer to those who have a role, and nothing at all to others. And the end of a share, for all that is open then.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { JsonObject } from '../../core/contract/json.ts'
import { type Client, type Hub, startHub } from '../support/hub.ts'
import { RawOAuth } from '../support/oauth.ts'
import { atMost } from '../support/pace.ts'
import { RawClient, SseReader } from '../support/raw-mcp.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { RawModern } from '../unit/mcp/modern-support.ts'

setDefaultTimeout(120_000)

/** The things of bob that are shared, and one server that a group has from somebody else, which is shared with bob alone. */
const GROUP = '/mcp/@bob/box'
const SERVER = '/mcp/@bob/open'
const SMART = '/mcp/$smart/@bob/box'
const NONE = '/mcp/@bob/nothing'
/** Texts that only callers with a role may read. */
const MARK = /from-(?:open|inner|shut)/

const whole = (NAME: string) => ({
  ...{ command: process.execPath, args: [join(import.meta.dir, 'fixtures/whole.ts')], env: { NAME } },
  session: 'shared',
})

const PEOPLE = ['bob', 'una', 'sean', 'carl', 'tess', 'nora', 'dora', 'gone'] as const
type Person = (typeof PEOPLE)[number] | 'admin'
const people = {} as Record<Person, Client>
let hub: Hub

beforeAll(async () => {
  hub = await startHub()
  const admin = await hub.setup()
  people.admin = admin
  // Programs of administrators run without a sandbox, which would hide the fixture; under /mcp they have no other rights for it.
  for (const name of PEOPLE) people[name] = await hub.user(name, name === 'bob' || name === 'dora' ? 'admin' : 'user')
  const { bob, dora } = people
  for (const name of ['open', 'inner']) await admin.ok('POST', '/api/servers', { name, owner: 'bob', ...whole(name) })
  await admin.ok('POST', '/api/servers', { name: 'shut', owner: 'dora', ...whole('shut') })
  await online(bob, ['open', 'inner'])
  await online(dora, ['shut'])
  await dora.ok('PUT', '/api/servers/shut/shares/user:bob', { role: 'use' })
  const members = [{ server: 'inner', tools: ['who', 'notice'] }, 'dora~shut']
  await bob.ok('POST', '/api/groups', { name: 'box', naming: 'prefixed', members })
  await admin.ok('POST', '/api/admin/teams', { name: 'crew', members: ['tess'] })
  await give()
  for (const name of [...PEOPLE, 'admin'] as const) await credentials(name)
  await admin.ok('PATCH', '/api/admin/users/gone', { disabled: true })
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

const SHARES = { 'user:una': 'use', 'user:sean': 'see', 'user:carl': 'change', 'team:crew': 'use', 'user:gone': 'see' }

async function give(): Promise<void> {
  const shares = Object.entries(SHARES).map(([subject, role]) => ({ subject, role }))
  for (const thing of ['groups/box', 'servers/open']) await people.bob.ok('PUT', `/api/${thing}/shares`, { shares })
}

/** Kinds of credentials; each opens some of the paths. */
const CREDENTIALS = {
  'a session': [GROUP, SERVER, SMART],
  'a key of all': [GROUP, SERVER, SMART],
  'a key of the group': [GROUP, SMART],
  'a key of the server': [SERVER],
  'a sign-in of a client for the group': [GROUP],
} as const
type Kind = keyof typeof CREDENTIALS
const held = new Map<Person, Record<Kind, string | undefined>>()
let oauth: RawOAuth

/** All credentials that a person can get: for keys and sign-ins of a thing, a role is needed. */
async function credentials(name: Person): Promise<void> {
  const person = people[name]
  const key = async (...scopes: unknown[]) =>
    (await person.request('POST', '/api/keys', { label: 'x', scopes })).json.secret as string | undefined
  oauth ??= await new RawOAuth(hub.url).register()
  const code = await oauth.code(person, GROUP).catch(() => undefined)
  const grant = code === undefined ? undefined : (await oauth.redeem(code)).body.access_token
  held.set(name, {
    'a session': person.token,
    'a key of all': await key('mcp'),
    'a key of the group': await key({ group: 'bob~box' }),
    'a key of the server': await key({ server: 'bob~open' }),
    'a sign-in of a client for the group': grant,
  })
}

/** Methods with their parameters at a path; the answer has this text. `era`: where the other one has no such method. */
interface Row {
  readonly method: string
  readonly at: readonly string[]
  readonly params?: (path: string) => JsonObject
  readonly answer?: RegExp
  readonly era?: 'legacy' | 'modern'
}
const BOTH = [GROUP, SERVER]
const ofBox = (path: string, name: string) => (path === SERVER ? name : `inner_${name}`)
const ref = (path: string) => ({ type: 'ref/prompt', name: ofBox(path, 'greet') })
const argument = { name: 'a', value: '' }
const uri = (path: string) => ({ uri: `whole-${path === SERVER ? 'open' : 'inner'}://one` })
const ROWS: readonly Row[] = [
  { method: 'tools/list', at: BOTH },
  { method: 'tools/list', at: [SMART], answer: /call_tool/ },
  { method: 'tools/call', at: BOTH, params: path => ({ name: ofBox(path, 'who'), arguments: {} }) },
  {
    ...{ method: 'tools/call', at: [SMART] },
    params: () => ({ name: 'call_tool', arguments: { tool: 'inner_who', arguments: {} } }),
  },
  { method: 'tools/call', at: [SMART], params: () => ({ name: 'search_tools', arguments: { query: 'greeting' } }) },
  { method: 'prompts/list', at: BOTH },
  { method: 'prompts/get', at: BOTH, params: path => ({ name: ofBox(path, 'greet') }) },
  { method: 'resources/list', at: BOTH },
  { method: 'resources/templates/list', at: BOTH },
  { method: 'resources/read', at: BOTH, params: uri },
  { method: 'completion/complete', at: BOTH, params: path => ({ ref: ref(path), argument }) },
  { method: 'resources/subscribe', at: BOTH, params: uri, answer: /"result":\{/, era: 'legacy' },
  { method: 'resources/unsubscribe', at: BOTH, params: uri, answer: /"result":\{/, era: 'legacy' },
  { method: 'logging/setLevel', at: BOTH, params: () => ({ level: 'error' }), answer: /"result":\{/, era: 'legacy' },
  { method: 'server/discover', at: BOTH, answer: /capabilities/, era: 'modern' },
]

/** Callers with a role at the things, and the answers to the others. */
const MAY: readonly Person[] = ['bob', 'una', 'sean', 'carl', 'tess']
const MAY_NOT: Readonly<Partial<Record<Person, number>>> = { nora: 404, dora: 404, admin: 404, gone: 401 }

const secretOf = (name: Person, kind: Kind) => held.get(name)?.[kind] ?? ''

const legacyAnswer = (client: RawClient, { method, params }: Row, path: string) =>
  patiently(() => client.send(method, params?.(path)))

const modernAnswer = (secret: string, { method, params }: Row, path: string) =>
  patiently(() => new RawModern(hub, path, secret).send(method, params?.(path)))

/** Status and text; a user is limited in messages a second that are refused. */
async function patiently(send: () => Promise<Response>): Promise<string> {
  for (;;) {
    const response = await send()
    const text = `${response.status} ${await response.text()}`
    if (response.status !== 429) return text
    await Bun.sleep(1_000 * Number(response.headers.get('retry-after')))
  }
}

describe('somebody with a role', () => {
  for (const name of MAY)
    test(`${name} gets the answer of every method, with each credential that opens the path, and of nothing else`, async () => {
      const wrong: unknown[] = []
      for (const [kind, opened] of Object.entries(CREDENTIALS) as [Kind, readonly string[]][]) {
        const secret = secretOf(name, kind)
        for (const path of [GROUP, SERVER, SMART]) {
          const opens = opened.includes(path)
          const rows = ROWS.filter(({ at }) => at.includes(path))
          const legacy = new RawClient(hub, path, secret)
          const opening = await legacy.open().then(
            () => 200,
            (error: Error) => error.message,
          )
          if ((opening === 200) !== opens) wrong.push([kind, path, 'initialize', opening])
          for (const row of rows) {
            const answers = [
              ...(row.era === 'modern' || !opens ? [] : [await legacyAnswer(legacy, row, path)]),
              ...(row.era === 'legacy' ? [] : [await modernAnswer(secret, row, path)]),
            ]
            for (const text of answers) {
              const isAnswer = text.startsWith('200') && (row.answer ?? MARK).test(text) && !text.includes('"error"')
              if (isAnswer !== opens) wrong.push([kind, path, row.method, text])
              // A member of somebody else is for those who may use it.
              const sees = text.includes('from-shut')
              if (sees && name !== 'bob') wrong.push([kind, path, row.method, 'has a member that is not shared', text])
              if (!opens && MARK.test(text)) wrong.push([kind, path, row.method, 'leaks', text])
            }
          }
        }
      }
      expect(wrong).toEqual([])
    })
})

/** The losses of a role, each with who loses it. */
const LOSSES: Readonly<Record<string, readonly [Person, () => Promise<unknown>]>> = {
  'is taken away': [
    'una',
    () => Promise.all([GROUP, SERVER].map(path => people.bob.ok('DELETE', shareOf(path, 'una')))),
  ],
  'was of a team that is left': ['tess', () => people.admin.ok('PATCH', '/api/admin/teams/crew', { members: [] })],
  'was of a team that is deleted': ['tess', () => people.admin.ok('DELETE', '/api/admin/teams/crew')],
}
const shareOf = (path: string, name: string) =>
  `/api/${path === GROUP ? 'groups/box' : 'servers/open'}/shares/user:${name}`
const WITHIN_MS = 5_000

/** All that comes on a stream, and its end. */
function follow(what: string, response: Response) {
  const stream = { what, text: '', ended: false }
  const reader = new SseReader(response)
  void (async () => {
    for (let event = await reader.next(); event; event = await reader.next()) stream.text += `${event.data ?? ''}\n`
  })()
    .catch(() => undefined)
    .finally(() => {
      stream.ended = true
    })
  return stream
}

describe('a role with everything open', () => {
  for (const [loss, [name, lose]] of Object.entries(LOSSES))
    test(`that ${loss} leaves nothing: no stream, no update, no method, with any credential`, async () => {
      await people.admin.request('DELETE', '/api/admin/teams/crew')
      await people.admin.ok('POST', '/api/admin/teams', { name: 'crew', members: ['tess'] })
      await give()
      const clients: [Kind, string, RawClient][] = []
      const streams: ReturnType<typeof follow>[] = []
      for (const [kind, paths] of Object.entries(CREDENTIALS) as [Kind, readonly string[]][])
        for (const path of paths) {
          const secret = secretOf(name, kind)
          const client = await new RawClient(hub, path, secret).open()
          clients.push([kind, path, client])
          streams.push(follow(`GET ${path} ${kind}`, await client.get()))
          if (path !== SMART) {
            await client.call('logging/setLevel', { level: 'debug' })
            await client.call('resources/subscribe', uri(path))
          }
          const notifications = { toolsListChanged: true, resourceSubscriptions: path === SMART ? [] : [uri(path).uri] }
          const listening = await new RawModern(hub, path, secret).send('subscriptions/listen', { notifications })
          streams.push(follow(`listen ${path} ${kind}`, listening))
        }
      const notice = async (thing: string) => people.bob.ok('POST', `/api/servers/${thing}/tools/notice/call`, {})
      for (const thing of ['open', 'inner']) await notice(thing)
      const updated = ({ text }: { text: string }) => text.includes('resources/updated')
      const told = streams.filter(({ what }) => !what.includes(SMART))
      await until(() => told.every(updated), { what: 'an update on each stream' })
      const endMs = performance.now() + atMost(WITHIN_MS)
      await lose()
      for (const stream of streams) stream.text = ''
      for (const thing of ['open', 'inner']) await notice(thing)
      const open = () => streams.filter(({ ended }) => !ended).map(({ what }) => what)
      while (open().length > 0 && performance.now() < endMs) await Bun.sleep(20)
      expect(open()).toEqual([])
      const wrong: unknown[] = []
      for (const [kind, path, client] of clients)
        for (const row of ROWS.filter(({ at }) => at.includes(path))) {
          const answers = [
            ...(row.era === 'modern' ? [] : [await legacyAnswer(client, row, path)]),
            ...(row.era === 'legacy' ? [] : [await modernAnswer(secretOf(name, kind), row, path)]),
          ]
          for (const text of answers)
            if (!text.startsWith(kind.startsWith('a sign-in') ? '401 ' : '404 ') || MARK.test(text))
              wrong.push([kind, path, row.method, text])
        }
      expect(wrong).toEqual([])
      expect(streams.filter(({ text }) => MARK.test(text))).toEqual([])
    })
})

describe('somebody without a role', () => {
  for (const [name, status] of Object.entries(MAY_NOT) as [Person, number][])
    test(`${name} gets ${status} for every method, as for a path that does not exist, with the session of the owner too`, async () => {
      const wrong: unknown[] = []
      const missing = async (secret: string, row: Row) => withoutNames(await modernAnswer(secret, row, NONE))
      const owner = new Map<string, string>()
      for (const path of [GROUP, SERVER, SMART])
        owner.set(path, (await new RawClient(hub, path, secretOf('bob', 'a session')).open()).sessionId)
      // An address is limited in wrong credentials.
      for (const kind of ['a session', 'a key of all'] as const)
        for (const path of status === 401 && kind !== 'a session' ? [] : [GROUP, SERVER, SMART]) {
          const secret = secretOf(name, kind)
          const taken = new RawClient(hub, path, secret)
          taken.headers['mcp-session-id'] = owner.get(path) ?? ''
          taken.headers['mcp-protocol-version'] = '2025-11-25'
          for (const row of ROWS.filter(({ at }) => at.includes(path))) {
            const modern = row.era === 'legacy' ? undefined : await modernAnswer(secret, row, path)
            if (
              modern !== undefined &&
              status === 404 &&
              path !== SMART &&
              withoutNames(modern) !== (await missing(secret, row))
            )
              wrong.push([kind, path, row.method, 'is not as missing', modern])
            const legacy = row.era === 'modern' ? undefined : await legacyAnswer(taken, row, path)
            for (const text of [modern, legacy])
              if (text !== undefined && (!text.startsWith(`${status} `) || MARK.test(text)))
                wrong.push([kind, path, row.method, text])
          }
          const opening = await new RawClient(hub, path, secret).open().catch((error: Error) => error.message)
          if (typeof opening !== 'string' || !opening.includes(`${status}`) || MARK.test(opening))
            wrong.push([kind, path, 'initialize', opening])
          const listen = await new RawModern(hub, path, secret).send('subscriptions/listen', { notifications: {} })
          if (listen.status !== status) wrong.push([kind, path, 'subscriptions/listen', listen.status])
          await listen.body?.cancel()
          const stream = await taken.get()
          if (stream.status !== status) wrong.push([kind, path, 'GET', stream.status])
          await stream.body?.cancel()
          const end = await taken.delete()
          if (end.status !== status) wrong.push([kind, path, 'DELETE', end.status])
        }
      expect(wrong).toEqual([])
    })

  test('gets no key and no sign-in of a client for it', () => {
    const kinds = ['a key of the group', 'a key of the server', 'a sign-in of a client for the group'] as const
    expect(kinds.map(kind => secretOf('nora', kind))).toEqual(['', '', ''])
  })
})

/** An answer without what a request has of its own. */
function withoutNames(text: string): string {
  return text.replaceAll(/"(?:requestId|id)":(?:"[^"]*"|\d+)/g, '').replaceAll(/box|open|nothing/g, '?')
}
