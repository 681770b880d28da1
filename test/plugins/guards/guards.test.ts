/** Rules about content, at every way to a server: what they find is counted, masked or refused before anything else sees it. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Client, type Hub, LOOPBACK, startHub } from '../../support/hub.ts'
import { isSigned, startReceiver } from '../../support/receiver.ts'
import { failureOf, online } from '../../support/servers.ts'
import { until } from '../../support/wait.ts'
import { RawModern } from '../../unit/mcp/modern-support.ts'
import { checked, FORMS } from './planted.ts'

setDefaultTimeout(60_000)

const mirror = { command: process.execPath, args: [join(import.meta.dir, 'fixtures/mirror.ts')], session: 'shared' }
const MASK = [{ id: 'no-keys', on: 'result', match: { secrets: true }, then: 'mask' }]
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
/** Every secret that a test of this file used. */
const planted: string[] = []

let hub: Hub
let admin: Client
let bob: Client
let client: McpClient

beforeAll(async () => {
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      plugins: [
        { use: 'guards', config: { rules: [{ id: 'no-cards', match: { personal: ['card'] }, then: 'refuse' }] } },
      ],
      mcpServers: { plain: mirror, masked: mirror, refusing: mirror, hooked: mirror },
    },
  })
  admin = await hub.setup()
  await online(admin, ['plain', 'masked', 'refusing', 'hooked'])
  bob = await hub.user('bob')
  await admin.ok('PUT', '/api/servers/masked/guards', { rules: MASK })
  const refusing = [{ id: 'no-keys', on: 'arguments', match: { secrets: true }, then: 'refuse' }]
  await admin.ok('PUT', '/api/servers/refusing/guards', { rules: refusing })
  await admin.ok('POST', '/api/groups', { name: 'work', members: ['plain', 'masked', 'refusing'], naming: 'prefixed' })
  client = await admin.mcp('/mcp/masked')
}, 120_000)
afterAll(() => hub?.stop(), 120_000)

function secret(): string {
  const made = `ghp_${checked()}`
  planted.push(made)
  return made
}

/** The text of a result that the server was asked for. */
async function mirrored(of: McpClient, args: object, name = 'mirror'): Promise<{ text: string; isError: boolean }> {
  const { content, isError } = await of.callTool({ name, arguments: { ...args } })
  return { text: (content as { text: string }[]).map(({ text }) => text).join('|'), isError: isError === true }
}

describe('the rules of a server', () => {
  test('observe unless they say otherwise, and count with samples that have nothing of what was found', async () => {
    const token = secret()
    const { rules } = await admin.ok('PUT', '/api/servers/plain/guards', {
      rules: [{ id: 'look', match: { secrets: true } }],
    })
    expect(rules).toEqual([{ id: 'look', on: 'both', match: { secrets: true }, then: 'observe' }])
    const plain = await admin.mcp('/mcp/plain')
    expect(await mirrored(plain, { text: `the key ${token}` })).toEqual({ text: `the key ${token}`, isError: false })
    const { counts } = await admin.ok('GET', '/api/servers/plain/guards')
    expect(counts.look).toMatchObject({ observed: 2, masked: 0, refused: 0, failed: 0 })
    const samples = await admin.ok('GET', '/api/servers/plain/guards/look/samples')
    const { at, ...newest } = samples.items[0]
    const place = { path: '/content/0/text', kind: 'github_token', length: 40 }
    expect(newest).toEqual({ on: 'result', server: 'plain', tool: 'mirror', action: 'observed', ...place })
    expect(samples.items[1]).toMatchObject({ on: 'arguments', path: '/arguments/text' })
    await admin.ok('PUT', '/api/servers/plain/guards', { rules: [] })
    expect((await admin.request('GET', '/api/servers/plain/guards/look/samples')).json.code).toBe('guard_not_found')
  })

  test('are for its owner and administrators alone', async () => {
    await admin.ok('PATCH', '/api/servers/plain', { visibility: 'public' })
    for (const [method, path, body] of [
      ['GET', '/api/servers/admin~plain/guards'],
      ['PUT', '/api/servers/admin~plain/guards', { rules: [] }],
      ['GET', '/api/servers/admin~plain/guards/look/samples'],
    ] as const)
      expect([path, (await bob.request(method, path, body)).json.code]).toEqual([path, 'not_owner'])
    expect((await bob.request('GET', '/api/servers/admin~masked/guards')).json.code).toBe('server_not_found')
    expect((await bob.request('GET', '/api/groups/admin~work/guards')).json.code).toBe('group_not_found')
    expect((await bob.request('GET', '/api/admin/guards')).status).toBe(403)
    expect((await bob.ok('GET', '/api/guards')).items).toEqual([])
    await admin.ok('PATCH', '/api/servers/plain', { visibility: 'private' })
  })

  test('are refused with the place of each mistake', async () => {
    const put = async (rule: object, ...more: object[]) =>
      (
        await admin.request('PUT', '/api/servers/plain/guards', {
          rules: [{ id: 'a', match: { secrets: true }, ...rule }, ...more],
        })
      ).json
    for (const [rule, pointer] of [
      [{ match: {} }, '#/rules/0/match'],
      [{ match: { pattern: '***' } }, '#/rules/0/match/pattern'],
      [{ match: { secrets: ['nothing'] } }, '#/rules/0/match/secrets/0'],
      [{ match: { domains: ['https://x/'] } }, '#/rules/0/match/domains/0'],
      [{ id: 'With Spaces' }, '#/rules/0/id'],
      [{ then: 'delete' }, '#/rules/0/then'],
      [{ more: 1 }, '#/rules/0/more'],
      [{ match: undefined, webhook: { url: 'https://x.example', secret: 'short' } }, '#/rules/0/webhook/secret'],
    ] as const) {
      const { code, errors } = await put(rule)
      expect([JSON.stringify(rule), code, errors[0].pointer.startsWith(pointer.slice(0, 14))]).toEqual([
        JSON.stringify(rule),
        'validation_failed',
        true,
      ])
    }
    expect((await put({}, { id: 'a', match: { secrets: true } })).code).toBe('validation_failed')
    expect(
      (await put({}, ...Array.from({ length: 50 }, (_, n) => ({ id: `r${n}`, match: { secrets: true } })))).code,
    ).toBe('validation_failed')
  })
})

describe('secrets in what a server answers', () => {
  test('are masked for clients of both eras, over REST, in groups and behind $smart', async () => {
    const token = secret()
    const text = `the key ${token}`
    const expected = 'the key [masked:github_token]'
    expect((await mirrored(client, { text })).text).toBe(expected)
    const work = await admin.mcp('/mcp/work')
    const { tools } = await work.listTools()
    const named = tools.find(({ name }) => name.includes('masked') && name.endsWith('mirror'))?.name ?? ''
    expect((await mirrored(work, { text }, named)).text).toBe(expected)
    const rest = await admin.ok('POST', '/api/servers/masked/tools/mirror/call', { arguments: { text } })
    expect(JSON.stringify(rest)).toContain(expected)
    expect(JSON.stringify(rest)).not.toContain(token)
    const smart = await admin.mcp('/mcp/$smart/work')
    const names = (await smart.listTools()).tools.map(({ name }) => name)
    const caller = names.find(name => /call/.test(name)) ?? ''
    const found = await smart.callTool({ name: caller, arguments: { name: named, tool: named, arguments: { text } } })
    expect(JSON.stringify(found)).toContain(expected)
    expect(JSON.stringify(found)).not.toContain(token)
    const modern = new RawModern(hub, '/mcp/masked', await admin.mcpKey())
    const answer = await modern.call('tools/call', { name: 'mirror', arguments: { text } })
    expect(JSON.stringify(answer)).toContain(expected)
    expect(JSON.stringify(answer)).not.toContain(token)
  })

  test('none of 50 of ten forms passes', async () => {
    let passed = 0
    for (let round = 0; round < 5; round += 1) {
      const secrets = FORMS.map(([, make]) => make())
      planted.push(...secrets)
      const result = { content: secrets.map(text => ({ type: 'text', text })), structuredContent: { secrets } }
      const { content, structuredContent } = await client.callTool({
        name: 'mirror',
        arguments: { result: JSON.stringify(result) },
      })
      const answer = JSON.stringify({ content, structuredContent })
      passed += secrets.filter(one => answer.includes(JSON.stringify(one).slice(1, -1).slice(0, 30))).length
    }
    expect(passed).toBe(0)
  })

  test('are masked in prompts, resources, errors, progress and log messages', async () => {
    const token = secret()
    const masked = '[masked:github_token]'
    expect(JSON.stringify(await client.getPrompt({ name: 'say', arguments: { text: token } }))).toContain(masked)
    const uri = `mirror://${Buffer.from(`# ${token}`).toString('hex')}`
    expect((await client.readResource({ uri })).contents[0]).toMatchObject({ text: `# ${masked}` })
    const failure = await failureOf(client.callTool({ name: 'mirror', arguments: { error: `cannot use ${token}` } }))
    expect(failure.message).toContain(`cannot use ${masked}`)
    const notes: unknown[] = []
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      notes.push(params.data)
    })
    await client.callTool({ name: 'mirror', arguments: { notes: [`log ${token}`], text: 'done' } }, undefined, {
      onprogress: ({ message }) => notes.push(message),
    })
    await until(() => notes.length >= 1)
    expect(new Set(notes)).toEqual(new Set([`log ${masked}`]))
  })

  test('are masked in log messages that belong to no call', async () => {
    await admin.ok('POST', '/api/servers', { name: 'dedicated', ...mirror, session: 'per-session' })
    await online(admin, ['dedicated'])
    await admin.ok('PUT', '/api/servers/dedicated/guards', { rules: MASK })
    const notes: unknown[] = []
    const own = await admin.mcp('/mcp/dedicated', {
      prepare: one =>
        one.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
          notes.push(params.data)
        }),
    })
    await mirrored(own, { later: `log ${secret()}`, text: 'done' })
    await until(() => notes.length >= 1)
    expect(notes).toEqual(['log [masked:github_token]'])
    await admin.ok('DELETE', '/api/servers/dedicated')
  })

  test('are masked in the middle of a result that is shortened and read on', async () => {
    await admin.ok('POST', '/api/groups', { name: 'short', members: ['masked'], resultLimit: 1024 })
    const short = await admin.mcp('/mcp/short')
    const token = secret()
    const result = JSON.stringify({
      content: [{ type: 'text', text: `${'word '.repeat(400)}${token}${' word'.repeat(400)}` }],
    })
    let { text } = await mirrored(short, { result })
    let whole = text
    for (let handle = /read on by ([\w-]+)/.exec(text)?.[1]; handle; handle = /read on by ([\w-]+)/.exec(text)?.[1]) {
      ;({ text } = await mirrored(short, { handle }, 'patchbay_read_result'))
      whole += text
    }
    expect(whole).toContain('[masked:github_token]')
    expect(whole).not.toContain(token.slice(4, 20))
  })
})

describe('secrets in arguments', () => {
  test('are refused before the server sees them, with the name of the rule and a record that says who did', async () => {
    const refusing = await admin.mcp('/mcp/refusing')
    await mirrored(refusing, { text: 'before' })
    const token = secret()
    const { text, isError } = await mirrored(refusing, { text: `send ${token}` })
    expect(isError).toBe(true)
    expect(text).toBe(
      'guard_refused: The rule "no-keys" of the server "refusing" refuses this: what was sent has github_token at /arguments/text',
    )
    expect((await mirrored(refusing, {}, 'seen')).text).toContain('before')
    const record = await until(async () =>
      (await admin.ok('GET', '/api/monitoring/activity?limit=100')).items.find(
        ({ status }: { status: string }) => status === 'guard_refused',
      ),
    )
    expect(record).toMatchObject({ outcome: 'blocked', plugin: 'guards', server: 'refusing', tool: 'mirror' })
    expect((await failureOf(refusing.getPrompt({ name: 'say', arguments: { text: token } }))).message).toContain(
      'guard_refused',
    )
  })

  test('are masked for the server where a rule says so', async () => {
    await admin.ok('PUT', '/api/servers/plain/guards', {
      rules: [{ id: 'm', on: 'arguments', match: { secrets: true }, then: 'mask' }],
    })
    const plain = await admin.mcp('/mcp/plain')
    await mirrored(plain, { text: `send ${secret()}` })
    expect((await mirrored(plain, {}, 'seen')).text).toContain('send [masked:github_token]')
    await admin.ok('PUT', '/api/servers/plain/guards', { rules: [] })
  })
})

test('rules of the hub, the group and the server all apply, and the strictest decides', async () => {
  const plain = await admin.mcp('/mcp/plain')
  const card = '4111 1111 1111 1111'
  expect((await mirrored(plain, { text: card })).text).toContain('The rule "no-cards" of the hub refuses this')
  await admin.ok('PUT', '/api/groups/work/guards', {
    rules: [
      { id: 'orion', match: { pattern: 'project orion' }, then: 'mask' },
      { id: 'only-seen', match: { personal: ['card'] }, tools: ['*mirror'] },
    ],
  })
  await admin.ok('PUT', '/api/servers/masked/guards', {
    rules: [...MASK, { id: 'orion', on: 'result', match: { pattern: 'orion' }, then: 'observe' }],
  })
  const work = await admin.mcp('/mcp/work')
  const named =
    (await work.listTools()).tools.find(({ name }) => name.includes('masked') && name.endsWith('mirror'))?.name ?? ''
  const token = secret()
  expect((await mirrored(work, { text: `Project Orion ${token}` }, named)).text).toBe(
    '[masked:orion] [masked:github_token]',
  )
  expect((await mirrored(work, { text: card }, named)).isError).toBe(true)
  const { counts } = await admin.ok('GET', '/api/groups/work/guards')
  expect([counts.orion.masked, counts['only-seen'].observed]).toEqual([1, 1])
  // The group's rules are of its path alone.
  expect((await mirrored(client, { text: 'Project Orion' })).text).toBe('Project Orion')
  const { items } = await admin.ok('GET', '/api/guards')
  expect(items.map(({ ref }: { ref: string }) => ref)).toEqual(['admin~masked', 'admin~refusing', 'admin~work'])
})

describe('a webhook', () => {
  const put = (webhook: object, then = 'refuse') =>
    admin.ok('PUT', '/api/servers/hooked/guards', {
      rules: [
        { id: 'hook', on: 'arguments', webhook: { secret: SECRET, ...webhook }, then },
        { id: 'keys', on: 'arguments', match: { secrets: true }, then: 'mask' },
      ],
    })

  test('gets signed requests, and passes, changes or refuses; its changes go through the other rules', async () => {
    const token = secret()
    const receiver = startReceiver(({ json }) => {
      const { text } = json.value.arguments
      if (text === 'bad') return Response.json({ action: 'refuse', reason: 'not on\n\u202eFridays' })
      if (text === 'long')
        return Response.json({ action: 'change', value: { ...json.value, arguments: { text: `short ${token}` } } })
      return Response.json({ action: 'pass' })
    })
    try {
      const { rules } = await put({ url: receiver.url })
      expect(rules[0].webhook.secret).not.toContain(SECRET.slice(6, 20))
      const hooked = await admin.mcp('/mcp/hooked')
      expect((await mirrored(hooked, { text: 'good' })).text).toBe('good')
      expect((await mirrored(hooked, { text: 'bad' })).text).toContain(
        'The rule "hook" of the server "hooked" refuses this: what was sent is refused: not on⟨U+000A⟩⟨U+202E⟩Fridays',
      )
      expect((await mirrored(hooked, { text: 'long' })).text).toBe('short [masked:github_token]')
      expect(receiver.received.every(one => isSigned(one, SECRET))).toBe(true)
      const { value: _, ...asked } = receiver.received[0]?.json ?? {}
      expect(asked).toEqual({
        version: '1',
        rule: 'hook',
        on: 'arguments',
        method: 'tools/call',
        server: 'hooked',
        user: 'admin',
        tool: 'mirror',
      })
      // Content that a rule masks is not sent to it.
      await mirrored(hooked, { text: token })
      expect(receiver.received.at(-1)?.text).not.toContain(token)
      // The mask of the secret keeps it, for the same address alone.
      await admin.ok('PUT', '/api/servers/hooked/guards', { rules })
      await mirrored(hooked, { text: 'good' })
      expect(isSigned(receiver.received.at(-1) as never, SECRET)).toBe(true)
      const moved = [{ ...rules[0], webhook: { ...rules[0].webhook, url: 'https://elsewhere.example/' } }]
      expect((await admin.request('PUT', '/api/servers/hooked/guards', { rules: moved })).json.errors[0].code).toBe(
        'secret_required',
      )
    } finally {
      await receiver.stop()
    }
  })

  test('that fails or hangs refuses the call, or lets it pass where its rule says open', async () => {
    const receiver = startReceiver(() => new Response('no', { status: 500 }))
    const hanging = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Promise<Response>(() => undefined) })
    const hooked = await admin.mcp('/mcp/hooked')
    try {
      await put({ url: receiver.url })
      expect((await mirrored(hooked, { text: 'x' })).text).toContain('could not be looked at by its webhook')
      await put({ url: `http://127.0.0.1:${hanging.port}`, timeoutMs: 200 })
      expect((await mirrored(hooked, { text: 'x' })).isError).toBe(true)
      await put({ url: `http://127.0.0.1:${hanging.port}`, timeoutMs: 200, onFailure: 'open' })
      expect(await mirrored(hooked, { text: 'x' })).toEqual({ text: 'x', isError: false })
      expect((await admin.ok('GET', '/api/servers/hooked/guards')).counts.hook.failed).toBe(1)
    } finally {
      await receiver.stop()
      await hanging.stop(true)
    }
  })
})

test('a webhook of a group sees no calls of others to servers that are not its owner’s', async () => {
  await admin.ok('PATCH', '/api/servers/plain', { visibility: 'public' })
  await bob.ok('POST', '/api/groups', { name: 'spy', members: ['admin~plain'], visibility: 'public' })
  const receiver = startReceiver(() => Response.json({ action: 'pass' }))
  try {
    const rules = [{ id: 'spy', webhook: { url: receiver.url, secret: SECRET }, then: 'refuse' }]
    await bob.ok('PUT', '/api/groups/spy/guards', { rules })
    const others = await admin.mcp('/mcp/@bob/spy')
    expect((await mirrored(others, { text: 'private' })).text).toContain('could not be looked at by its webhook')
    expect(receiver.received).toEqual([])
    const own = await bob.mcp('/mcp/spy')
    expect((await mirrored(own, { text: 'mine' })).text).toBe('mine')
    expect(receiver.received.length).toBe(2)
  } finally {
    await receiver.stop()
  }
})

test('rules stay over a restart of the plugin, apply only while it runs, and end with their server', async () => {
  const token = secret()
  await admin.ok('PATCH', '/api/admin/plugins/guards', { enabled: false })
  expect((await mirrored(client, { text: token })).text).toBe(token)
  expect((await admin.request('GET', '/api/servers/masked/guards')).status).toBe(404)
  await admin.ok('PATCH', '/api/admin/plugins/guards', { enabled: true })
  expect((await mirrored(client, { text: token })).text).toBe('[masked:github_token]')
  expect((await admin.ok('GET', '/api/servers/masked/guards')).rules[0]).toEqual({ ...MASK[0] })
})

test('nothing of a secret is in the log, the audit log, the records, the metrics or the samples', async () => {
  const files = (folder: string): string[] =>
    readdirSync(folder).flatMap(name => {
      const path = join(folder, name)
      return statSync(path).isDirectory() ? files(path) : [path]
    })
  const stored = files(hub.dataDir).map(path => readFileSync(path, 'latin1'))
  const read = await Promise.all(
    [
      '/api/admin/audit?limit=200',
      '/api/logs?limit=200',
      '/api/monitoring/activity?limit=100',
      '/metrics',
      '/api/guards',
      '/api/servers/masked/guards/no-keys/samples',
    ].map(async path => (await admin.request('GET', path)).text),
  )
  const everything = [hub.log(), ...stored, ...read].join('\n')
  expect(planted.length).toBeGreaterThan(50)
  expect(planted.filter(one => everything.includes(one.slice(5, 30)))).toEqual([])
  expect(everything).toContain('guards')
})
