/** Twenty deceptive names, entered in every way that takes a name, and checked in every place where people read it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MANIFEST, packed, sendBundle } from '../support/bundle.ts'
import { FOREIGN_NAMES, hiddenIn } from '../support/foreign-names.ts'
import { type Client, type Hub, LOOPBACK, PASSWORD, send, startHub, stdioFixture } from '../support/hub.ts'
import { HUB_MAIN } from '../support/hub-main.ts'
import { startMailServer } from '../support/mail-server.ts'
import { startCollector } from '../support/otlp.ts'
import { startReceiver } from '../support/receiver.ts'
import { makeRsyslog } from '../support/rsyslog.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { zipOf } from '../support/zip.ts'

/** Names that hide something. */
const HIDING = FOREIGN_NAMES.slice(0, 10)
/** Names in other languages that can be words of a command; `${…}` would be a placeholder. */
const OTHERS = FOREIGN_NAMES.slice(10).filter(name => !name.includes('${'))
/** JSON in ASCII: a variable of the environment can hold no NUL and no half a character. */
const ascii = (value: unknown) =>
  JSON.stringify(value).replace(/[$\x7f-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

const receiver = startReceiver(() => Response.json({ ok: true, code: 0, errcode: 0 }))
const collector = startCollector()
const catalogue = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: ({ url }) => Response.json(url.includes('/v0') ? registryOf() : catalogueOf()),
})
let hub: Hub
let admin: Client
let syslog: Awaited<ReturnType<typeof makeRsyslog>>
let mail: Awaited<ReturnType<typeof startMailServer>>

beforeAll(async () => {
  syslog = await makeRsyslog()
  await syslog.start()
  mail = await startMailServer()
  hub = await startHub({
    env: {
      ...LOOPBACK,
      ...{
        SYSLOG_ENABLED: 'true',
        SYSLOG_HOST: '127.0.0.1',
        SYSLOG_PORT: String(syslog.tcpPort),
        SYSLOG_PROTOCOL: 'tcp',
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_TRACES_SAMPLER_ARG: '1',
      },
    },
  })
  admin = await hub.setup()
  admin.patient = true
  await admin.ok('POST', '/api/servers', { name: 'named', ...stdioFixture('named', { NAMES: ascii(FOREIGN_NAMES) }) })
  await online(admin, ['named'])
  const session = await send(hub.url, 'POST', '/mcp/named', initialize(), {
    ...{ authorization: `Bearer ${await admin.mcpKey()}`, accept: 'application/json, text/event-stream' },
  })
  expect(session.status).toBe(200)
  await callAll()
}, 120_000)
afterAll(async () => {
  await hub?.stop()
  await syslog?.[Symbol.asyncDispose]()
  await mail?.stop()
  await receiver.stop()
  await catalogue.stop(true)
  await collector.stop()
}, 120_000)

/** Each tool fails with an error that holds its name. */
async function callAll(): Promise<void> {
  const client = await admin.mcp('/mcp/named')
  for (const { name } of (await client.listTools()).tools) {
    await client.callTool({ name, arguments: { fail: true } }).catch(() => undefined)
  }
  // A name that no tool has.
  await client.callTool({ name: `${HIDING[0]} of nobody` }).catch(() => undefined)
}

const initialize = () => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
  params: {
    ...{ protocolVersion: '2025-06-18', capabilities: {} },
    clientInfo: { name: FOREIGN_NAMES.join(' ').toWellFormed(), version: FOREIGN_NAMES[3], title: FOREIGN_NAMES[0] },
  },
})

/** An entry without words asks the person who installs it for a value. */
const asked = (words: number) => (words === 0 ? { env: { TOKEN: '<token>' } } : {})

function catalogueOf() {
  const entry = (name: string, at: number, args: readonly string[] = []) => [
    `entry-${at}`,
    {
      ...{ name: `entry-${at}`, display_name: name, description: name, author: { name }, categories: [name] },
      installations: { npm: { command: 'npx', args: ['-y', 'some-package@1.0.0', ...args], ...asked(args.length) } },
      ...(args.length === 0 ? { arguments: { TOKEN: { description: name, title: name, example: name } } } : {}),
    },
  ]
  const titles = FOREIGN_NAMES.map((name, at) => entry(name, at))
  const words = HIDING.map((name, at) => entry('wrong', 100 + at, [name]))
  const seen = OTHERS.map((name, at) => entry('right', 200 + at, [name]))
  return Object.fromEntries([...titles, ...words, ...seen])
}

/** A page of MCP's registry, whose servers have such names as words of their commands. */
function registryOf() {
  const server = (title: string, at: number, value: string) => ({
    server: {
      ...{ name: `com.example/names-${at}`, title, description: FOREIGN_NAMES[at % 20], version: '1.0.0' },
      packages: [
        {
          ...{ registryType: 'npm', identifier: 'some-package', version: '1.0.0', transport: { type: 'stdio' } },
          packageArguments: [{ type: 'positional', value }],
          environmentVariables: [{ name: 'TOKEN', description: FOREIGN_NAMES[at % 20], title: FOREIGN_NAMES[0] }],
        },
      ],
    },
    _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
  })
  const servers = [
    ...HIDING.map((name, at) => server('wrong', at, name)),
    ...OTHERS.map((name, at) => server('right', 100 + at, name)),
  ]
  return { servers, metadata: {} }
}

const READS = [
  ...['/api/servers', '/api/servers/named', '/api/servers/named/tools', '/api/servers/named/prompts'],
  ...['/api/servers/named/resources', '/api/servers/named/logs', '/api/admin/sessions', '/api/admin/processes'],
  ...['/api/monitoring/metrics', '/api/monitoring/overview', '/api/monitoring/connections', '/api/monitoring/activity'],
  ...['/api/logs/search?limit=200', '/api/admin/audit', '/api/market/templates?source=names'],
]

describe('texts that people read have no hidden character', () => {
  test.each(READS)('in GET %s', async path => {
    const { status, json } = await admin.request('GET', path)
    expect([status, hiddenIn(json)]).toEqual([200, []])
  })

  test('in lists, texts and instructions at /mcp, whose calls reach the tool by its own name', async () => {
    const client = await admin.mcp('/mcp/named')
    const { tools } = await client.listTools()
    const { prompts } = await client.listPrompts()
    const { resources } = await client.listResources()
    expect(hiddenIn([tools, prompts, resources, client.getServerVersion(), client.getInstructions()])).toEqual([])
    expect(tools[4]?.description).toBe(`about ${'line\nBcc: eve@example.com'}\nsecond line`)
    for (const [list, call] of [
      [tools, 'callTool'],
      [prompts, 'getPrompt'],
    ] as const) {
      const reached: string[] = []
      for (const { name } of list) {
        const answer = JSON.stringify(
          call === 'callTool' ? await client.callTool({ name }) : await client.getPrompt({ name }),
        )
        reached.push(
          FOREIGN_NAMES.findLast(one => answer.includes(JSON.stringify(JSON.stringify(one)).slice(1, -1))) ?? '',
        )
      }
      expect(reached).toEqual([...FOREIGN_NAMES])
    }
  })

  test('by REST a tool is called by the name that is listed, and by its own', async () => {
    const { items } = await admin.ok('GET', '/api/servers/named/tools?limit=100')
    expect(items.map(({ name }: { name: string }) => name)[0]).toBe('safe⟨U+202E⟩gnp.exe')
    for (const name of [...items.map(({ name: one }: { name: string }) => one), ...HIDING.slice(0, 9)]) {
      // A path cannot contain these names.
      if (/[/\\\r\n]/.test(name)) continue
      const answer = await admin.request('POST', `/api/servers/named/tools/${encodeURIComponent(name)}/call`, {})
      expect([name, answer.status]).toEqual([name, 200])
    }
  })

  test('an override and a selection by either name apply', async () => {
    const tools = { [HIDING[0] as string]: { enabled: false }, 'pay⟨U+200B⟩pal': { description: 'mine' } }
    await admin.ok('PATCH', '/api/servers/named', { tools })
    const { items } = await admin.ok('GET', '/api/servers/named/tools?limit=100')
    expect([items[0].enabled, items[1].description]).toEqual([false, 'mine'])
    await admin.ok('PATCH', '/api/servers/named', { tools: { 'safe⟨U+202E⟩gnp.exe': null } })
    const members = [{ server: 'named', tools: [HIDING[1], 'safe⟨U+202E⟩gnp.exe'] }]
    await admin.ok('POST', '/api/groups', { name: 'two', members })
    const client = await admin.mcp('/mcp/two')
    expect((await client.listTools()).tools).toHaveLength(2)
  })

  test('in the log, and each record of it is one line', async () => {
    await hub.logged('said safe⟨U+202E⟩')
    for (const line of hub.log().split('\n')) expect(hiddenIn(line)).toEqual([])
  })

  test('in syslog, where no value ends its own quotes and no text is two messages', async () => {
    const received = await until(async () => {
      const all = await syslog.received()
      return all.some(({ msg }) => msg.includes('"] forged')) && all.some(({ msg }) => msg.includes('Bcc:'))
        ? all
        : undefined
    })
    expect(hiddenIn(received)).toEqual([])
    expect(received.filter(({ app }) => app !== 'patchbay')).toEqual([])
    expect(received.every(({ data }) => data === '-' || !/(?<!\\)"\] forged/.test(data))).toBe(true)
  })

  test('in metrics and exports, where no cell is a formula', async () => {
    const metrics = await admin.request('GET', '/metrics')
    expect(hiddenIn(metrics.text)).toEqual([])
    for (const line of metrics.text.split('\n'))
      expect(line).toMatch(/^(#.*|[a-z_]+(\{([a-z_]+="(\\.|[^"\\])*",?)*\})? \S+|)$/)
    const csv = await admin.request('GET', '/api/monitoring/export?range=1h&format=csv')
    expect(hiddenIn(csv.text)).toEqual([])
    for (const cell of csv.text.split(/[\n,]/)) expect(cell).not.toMatch(/^"?\s*[=@]/)
  })

  test('in spans of traces', async () => {
    await until(() => collector.spans.length >= 2 * FOREIGN_NAMES.length)
    expect(collector.spans.some(({ name }) => name.includes('⟨U+202E⟩'))).toBe(true)
    expect(hiddenIn(collector.spans)).toEqual([])
  })

  test('in headers of answers', async () => {
    const paths = [...READS, '/api/export', '/api/monitoring/export', '/api/servers/named/tools/x%E2%80%AE/call']
    for (const path of paths) {
      const headers = { authorization: `Bearer ${admin.token}`, 'user-agent': 'a\u00ad', 'x-request-id': 'b\u0085' }
      const answer = await fetch(`${hub.url}${path}`, { headers })
      await answer.body?.cancel()
      expect([path, hiddenIn(Object.fromEntries(answer.headers))]).toEqual([path, []])
    }
  })

  test('in labels of numbers that users report, which are refused', async () => {
    for (const shop of HIDING) {
      const metrics = [{ name: 'orders', kind: 'counter', value: 1, labels: { shop } }]
      const { status, json } = await admin.request('POST', '/api/monitoring/custom-metrics', { metrics })
      expect([shop, status, json.errors?.[0].pointer]).toEqual([shop, 400, '#/metrics/0/labels/shop'])
    }
  })

  test('in what the commands print', async () => {
    const env = { ...process.env, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: admin.token }
    for (const args of [
      ['servers', 'list'],
      ['servers', 'show', 'named'],
      ['call', 'named', FOREIGN_NAMES[3] ?? ''],
      ['call', 'named', 'none\u202e'],
      ['groups', 'list'],
      ['key', 'list'],
      ['export', '-'],
      ['connect', 'cursor\u202e', 'named'],
      ['serve', 'x\u202e'],
      ['import', 'x\u202e.json'],
      ['x\u202e'],
    ]) {
      const run = Bun.spawnSync([process.execPath, HUB_MAIN, ...args], { env, cwd: hub.folder })
      const printed = `${run.stdout}${run.stderr}`
      expect([args, printed === '', hiddenIn(printed)]).toEqual([args, false, []])
    }
  })

  test('in what `patchbay import` says would run, word by word', async () => {
    const file = join(hub.folder, 'imported.json')
    const words = FOREIGN_NAMES.filter(name => name.isWellFormed() && !/[\0$]/.test(name))
    const mcpServers = {
      runs: { command: 'node', args: ['a b', '$(x)', "it's", ...words] },
      reaches: { url: 'https://never.example/mcp?a=1&b=2' },
    }
    await writeFile(file, ascii({ mcpServers }))
    const env = { ...process.env, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: admin.token }
    const { stdout } = Bun.spawnSync([process.execPath, HUB_MAIN, 'import', file, '--dry-run'], { env })
    expect(`${stdout}`).toContain(`runs runs: node 'a b' '$(x)' 'it'\\''s' 'safe⟨U+202E⟩gnp.exe'`)
    expect(`${stdout}`).toContain(`reaches connects to: 'https://never.example/mcp?a=1&b=2'`)
    expect(hiddenIn(`${stdout}`)).toEqual([])
  })
})

describe('a message about a tool', () => {
  test('calls nobody and forges no line, in any form', async () => {
    const templates = ['slack', 'feishu', 'dingtalk', 'wecom', 'discord', 'telegram']
    for (const template of templates) {
      const config = { webhook: `${receiver.url}/${template}`, template, channel: '-1' }
      await admin.ok('POST', '/api/monitoring/channels', { name: template, type: 'chat', config })
    }
    await admin.ok('POST', '/api/monitoring/channels', { name: 'hook', type: 'webhook', config: { url: receiver.url } })
    const smtp = { host: '127.0.0.1', port: mail.port }
    const config = { smtp, from: 'hub@example.com', recipients: ['ops@example.com'] }
    await admin.ok('POST', '/api/monitoring/channels', { name: 'mail', type: 'email', config })
    const rule = { name: 'busy', condition: 'error_rate[15m] >= 0', per: 'tool', severity: 'warning' }
    const before = receiver.received.length
    await admin.ok('POST', '/api/monitoring/rules', rule)
    const subjects = async () => (await admin.ok('POST', '/api/monitoring/test-alert', { rule: 'busy' })).subjects
    // The hub counts the tools of a server separately once a rule asks for them.
    await subjects()
    await callAll()
    await until(async () => (await subjects()).length >= FOREIGN_NAMES.length)
    await admin.ok('POST', '/api/monitoring/test-alert', { rule: 'busy', send: true })
    const messages = await until(() => {
      const all = receiver.received.slice(before)
      return all.length >= templates.length + 1 && mail.received.length > 0 ? all : undefined
    })
    for (const { path, json } of messages) {
      expect([path, hiddenIn(json)]).toEqual([path, []])
      const text = JSON.stringify(json)
      // A webhook's receiver gets plain data, and Telegram interprets no markup.
      if (path === '/telegram') expect(text).not.toContain('@')
      else if (path !== '/') expect(text).not.toMatch(/(?<!\\)<(?:at |!channel|@)|\]\(http/)
    }
    const [head = '', ...body] = (mail.received[0]?.text ?? '').split('\r\n\r\n')
    expect(head).not.toMatch(/^Bcc:/m)
    expect(body.join()).not.toMatch(/^Bcc:/m)
    expect(hiddenIn(mail.received[0]?.text.replaceAll('\r\n', '\n'))).toEqual([])
  })
})

describe('what would run', () => {
  test('is refused in a catalogue with a hidden character, while its titles are shown', async () => {
    const catalogues = { names: { url: catalogue.url.href } }
    await admin.ok('PATCH', '/api/admin/plugins/market-json', { config: { catalogues } })
    await admin.ok('POST', '/api/market/sources/names/refresh')
    const { items, total } = await admin.ok('GET', '/api/market/templates?limit=100&source=names')
    expect(hiddenIn(items)).toEqual([])
    expect(items.filter(({ title }: { title: string }) => title === 'wrong')).toEqual([])
    expect(total).toBeGreaterThanOrEqual(15)
    const asking = await admin.ok('GET', '/api/market/templates/names:entry-0')
    expect([asking.inputs[0]?.description.includes('⟨U+202E⟩'), hiddenIn(asking)]).toEqual([true, []])
    const right = items.filter(({ title }: { title: string }) => title === 'right')
    expect(right).toHaveLength(OTHERS.length)
    const plan = await admin.ok('POST', '/api/market/templates/names:entry-200/install?dryRun=true', { name: 'right' })
    expect(plan.argv).toEqual(['npx', '-y', 'some-package@1.0.0', OTHERS[0]])
  })

  test('is refused in an entry of a registry with a hidden character', async () => {
    const registries = { official: catalogue.url.href }
    await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config: { registries } })
    await admin.ok('POST', '/api/market/sources/official/refresh')
    const { items } = await admin.ok('GET', '/api/market/templates?limit=100&source=official')
    expect(hiddenIn(items)).toEqual([])
    const titles = items.map(({ title }: { title: string }) => title)
    expect(titles).toEqual(OTHERS.map(() => 'right'))
  })

  test.each(HIDING.map((name, at) => [at, name] as const))('is refused in a bundle, name %i', async (_, name) => {
    const { server } = MANIFEST
    const bundle = (config: object) =>
      zipOf([
        {
          name: 'manifest.json',
          content: ascii({ ...MANIFEST, server: { ...server, mcp_config: { ...server.mcp_config, ...config } } }),
        },
      ])
    for (const config of [
      { command: name },
      { args: [name] },
      { env: { [name]: 'x' } },
      { env: { A: `${name}\u200b` } },
    ]) {
      const { status, json } = await sendBundle(admin, bundle(config))
      expect([config, status, json.code]).toEqual([config, 400, 'bundle_invalid'])
    }
  })

  test('is a word of a bundle as it is, when nothing hides in it', async () => {
    const { server } = MANIFEST
    const config = { ...server.mcp_config, args: [...server.mcp_config.args, ...OTHERS] }
    const manifest = { ...MANIFEST, server: { ...server, mcp_config: config } }
    const sent = await sendBundle(admin, await packed(manifest, { 'server/index.js': '' }))
    const plan = await admin.ok('POST', `/api/bundles/${sent.json.bundleId}/install?dryRun=true`, {})
    expect(plan.argv.slice(-OTHERS.length)).toEqual(OTHERS)
    expect(hiddenIn(plan)).toEqual([])
  })

  test('is a title of a bundle, which is shown', async () => {
    const title = FOREIGN_NAMES.join(' ').toWellFormed().slice(0, 200)
    const user_config = { token: { type: 'string', title: title.slice(0, 100), description: title } }
    const about = { display_name: title, description: title, author: { name: title } }
    const manifest = { ...MANIFEST, ...about, user_config }
    const sent = await sendBundle(admin, await packed(manifest, { 'server/index.js': '' }))
    expect([sent.status, hiddenIn(sent.json)]).toEqual([201, []])
    const file = join(hub.folder, 'named.mcpb')
    await writeFile(
      file,
      await packed(
        { ...manifest, server: { ...MANIFEST.server, mcp_config: { command: 'node', args: ['a b', '$(x)'] } } },
        { 'server/index.js': '' },
      ),
    )
    const env = { ...process.env, PATCHBAY_URL: hub.url, PATCHBAY_TOKEN: admin.token }
    const { stdout } = Bun.spawnSync([process.execPath, HUB_MAIN, 'install', file, '--dry-run'], { env })
    expect(`${stdout}`).toContain(`runs: node 'a b' '$(x)'`)
    expect(hiddenIn(`${stdout}`)).toEqual([])
  })
})

describe('a name that people choose', () => {
  const server = stdioFixture('tiny')
  const doors: readonly (readonly [string, (name: string) => object])[] = [
    ['/api/servers', name => ({ name, ...server })],
    ['/api/groups', name => ({ name })],
    ['/api/admin/users', username => ({ username, password: PASSWORD })],
    ['/api/keys', label => ({ label, scopes: ['mcp'] })],
    ['/api/monitoring/rules', name => ({ name, condition: 'servers_offline > 0', severity: 'warning' })],
    ['/api/monitoring/channels', name => ({ name, type: 'webhook', config: { url: receiver.url } })],
    ['/api/monitoring/dashboards', name => ({ name, widgets: [] })],
    [
      '/api/monitoring/dashboards',
      title => ({ name: 'board', widgets: [{ type: 'metric', title, query: 'servers_total' }] }),
    ],
  ]
  test.each(doors)('is refused with a hidden character by POST %s', async (path, body) => {
    for (const name of HIDING) {
      const { status, json } = await admin.request('POST', path, body(name))
      expect([name, status, json.code]).toEqual([name, 400, 'validation_failed'])
      expect(hiddenIn(json)).toEqual([])
    }
  })
})

test('an OpenAPI document and an import with such names are shown without', async () => {
  const paths = Object.fromEntries(
    FOREIGN_NAMES.map((name, at) => [
      `/p${at}`,
      { get: { operationId: name, summary: name, description: name, responses: { 200: { description: name } } } },
    ]),
  )
  const schema = {
    openapi: '3.1.0',
    info: { title: FOREIGN_NAMES[0], version: '1' },
    servers: [{ url: receiver.url }],
    paths,
  }
  await admin.ok('POST', '/api/servers', { name: 'doc', openapi: { schema: JSON.parse(ascii(schema)) } })
  await online(admin, ['doc'])
  const tools = await admin.ok('GET', '/api/servers/doc/tools?limit=100')
  expect(tools.items.length).toBeGreaterThanOrEqual(FOREIGN_NAMES.length)
  expect(hiddenIn(tools)).toEqual([])
  const document = { mcpServers: Object.fromEntries(FOREIGN_NAMES.map(name => [name, { command: 'x' }])) }
  const plan = await admin.request('POST', '/api/import?dryRun=true', { document })
  // Pointers are the keys of the choices for each item of an import.
  const shown = JSON.parse(plan.text, (name, value) => (name === 'pointer' ? undefined : value))
  expect([plan.status, hiddenIn(shown)]).toEqual([200, []])
})

test('the program that signs in is shown without', async () => {
  await fetch(`${hub.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'user-agent': 'x\u009b2J\u0085\u00ad' },
    body: JSON.stringify({ username: 'admin', password: PASSWORD }),
  })
  const { items } = await admin.ok('GET', '/api/auth/sign-ins')
  expect(items.some(({ client }: { client: string | null }) => client?.startsWith('x⟨U+009B⟩2J'))).toBe(true)
  expect(hiddenIn(items)).toEqual([])
})
