// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of servers and placeholders of manifests
/** Ways to add servers: pasted configurations, forms, templates of the market and their versions, bundles. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { MANIFEST, packed } from '../support/bundle.ts'
import type { Client } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

const ID = 'mine:com.example~versioned'
let browser: Browser
let registry: ReturnType<typeof Bun.serve>
let hub: Hub
let admin: Client
let listed: readonly object[] = []

beforeAll(async () => {
  browser = await openBrowser()
  registry = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    fetch: () => Response.json({ servers: listed, metadata: {} }),
  })
  hub = await startHub({ env: LOOPBACK, settings: { mcpServers: { taken: stdioFixture('echo') } } })
  admin = await hub.setup()
  await online(admin, ['taken'])
  const config = { registries: { mine: registry.url.href } }
  await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
  await registry?.stop(true)
}, 120_000)

/** With a comment, a trailing comma, a secret, a variable, a placeholder, a taken name and an entry that is wrong. */
function pasted(name: string): string {
  const echo = JSON.stringify(
    stdioFixture('echo', { SERVICE_TOKEN: 'tok-1234567890abcdef', HOME_OF: '${HOME_OF}', ACCOUNT: '<YOUR_ACCOUNT>' }),
  ).slice(1, -1)
  return `{
  "mcpServers": {
    // mine
    "${name}": {${echo}},
    "taken": {${JSON.stringify(stdioFixture('echo')).slice(1, -1)}},
    "wrong": {"comand": "npx"},
  }
}`
}

const VIEWS: readonly (readonly [string, View, string])[] = [
  ['Chinese, dark, wide', { language: 'zh', theme: 'dark' }, 'first'],
  ...extent<readonly (readonly [string, View, string])[]>(
    [],
    [
      ['English, light, phone', PHONE, 'second'],
      ['English, light, wide', {}, 'third'],
    ],
  ),
]

test.each(VIEWS)('a pasted configuration becomes servers: %s', async (_, view, name) => {
  const chinese = view.language === 'zh'
  const tab = await openTab(browser, hub, admin, view)
  const { page } = tab
  const answers: string[] = []
  page.on('response', async answer => {
    if (answer.url().includes('/api/')) answers.push(await answer.text().catch(() => ''))
  })
  await tab.open('/servers/new')
  await page.fill('#pasted', pasted(name))
  await page.click(chinese ? 'button:has-text("读取")' : 'button:has-text("Read it")')
  await page.waitForSelector('.entries li >> nth=2')
  // The wrong entry names its place in what was pasted.
  const wrong = page.locator('.entries li', { hasText: 'wrong' })
  expect(await wrong.textContent()).toMatch(chinese ? /第 6 行，第 \d+ 列/ : /Line 6, column \d+/)
  // The taken name is skipped until something else is chosen.
  const taken = page.locator('.entries li', { hasText: 'taken' })
  await taken.locator('select').selectOption('rename')
  expect(await page.inputValue('#entry-name')).toBe('taken-2')
  await page.fill('#entry-name', `${name}-copy`)
  await page.locator('.entries li', { hasText: name }).first().locator('button').first().click()
  // The secret is a secret field, and what was left open is asked for.
  expect(await page.getAttribute('[id="blank-SERVICE_TOKEN"]', 'type')).toBe('password')
  const save = page.locator('section.entry .foot button.pri')
  expect(await save.isDisabled()).toBe(true)
  await page.fill('[id="blank-HOME_OF"]', '/tmp')
  await page.fill('[id="blank-ACCOUNT"]', 'ada')
  await page.locator('pb-entry button.sm').last().click()
  await page.waitForSelector('pb-entry details')
  expect(await page.locator('.steps .ok').count()).toBeGreaterThanOrEqual(3)
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways('asPhone')
  await save.click()
  await page.waitForURL(/\/servers$/)
  await online(admin, [name, `${name}-copy`])
  const record = await admin.ok('GET', `/api/servers/admin~${name}`)
  expect(record.variables).toEqual({ HOME_OF: '/tmp' })
  expect(record.env.ACCOUNT).toBe('ada')
  // The secret came in by the paste and is in no answer.
  expect(answers.join('\n')).not.toContain('tok-1234567890abcdef')
  expect(answers.length).toBeGreaterThan(3)
  await tab.close()
})

test('what was saved is switched off in the pasted file, which is given back with the original one', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/new')
  const before = `{ // mine\n  "mcpServers": {\n    "far": { "url": "http://127.0.0.1:9/mcp" }, // far\n    "stays": { "url": "http://127.0.0.1:9/other" }\n  }\n}\n`
  await page.fill('#pasted', before)
  await page.click('button:has-text("Read it")')
  await page.waitForSelector('.entries li >> nth=1')
  await page.locator('.entries li', { hasText: 'stays' }).locator('input').uncheck()
  await page.check('#switch-off')
  await page.click('button:has-text("Save without testing")')
  await page.waitForSelector('pb-switched-file')
  const after = '{ // mine\n  "mcpServers": {\n    // far\n    "stays": { "url": "http://127.0.0.1:9/other" }\n  }\n}\n'
  expect(await page.textContent('pb-switched-file pre')).toBe(after)
  for (const [button, name, text] of [
    ['Download the changed file', 'mcp.json', after],
    ['Download the original file', 'mcp.original.json', before],
  ] as const) {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`button:has-text("${button}")`)])
    expect([file.suggestedFilename(), await Bun.file(await file.path()).text()]).toEqual([name, text])
  }
  expect(await axe(tab)).toEqual([])
  await page.click('a:has-text("Go to the servers")')
  await page.waitForURL(/\/servers$/)
  expect((await admin.request('GET', '/api/servers/admin~stays')).status).toBe(404)
  await admin.ok('DELETE', '/api/servers/admin~far')
  await tab.close()
})

test('an address and a program by their forms; what is missing is said at its field', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/new?way=program')
  await page.click('button:has-text("Go on")')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('manual-name')
  const { command, args } = stdioFixture('echo') as { command: string; args: string[] }
  await page.fill('#manual-name', 'by-form')
  await page.fill('#manual-command', command)
  await page.fill('#manual-args', args.join('\n'))
  await page.fill('#manual-env', 'API_KEY=abc-0123456789')
  await page.click('button:has-text("Go on")')
  await page.waitForSelector('pb-entry')
  expect(await page.getAttribute('[id="blank-API_KEY"]', 'type')).toBe('password')
  await page.click('button:has-text("Save 1 server")')
  await page.waitForURL(/admin~by-form/)
  await online(admin, ['by-form'])
  await tab.close()
})

test('a server that cannot be reached: the step says why, and saving anyway is possible', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/new')
  await page.fill('#pasted', 'http://127.0.0.1:9/mcp')
  await page.click('button:has-text("Read it")')
  await page.waitForSelector('pb-entry')
  await page.fill('#entry-name', 'nobody-there')
  await page.click('section.entry .foot button.pri')
  await page.waitForSelector('.steps .bad')
  expect(await page.textContent('pb-entry')).toContain('refused')
  await page.click('button:has-text("Save without testing")')
  await page.waitForURL(/admin~nobody-there/)
  await tab.close()
})

test('the market installs what it shows, and starts nothing', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/market')
  await page.waitForSelector('.mcard')
  const cards = page.locator('.mcard')
  const all = await cards.count()
  await page.fill('[data-search]', 'airtable')
  // A card that gives way between the two halves of a click takes none.
  await until(async () => (await cards.count()) < all, { what: 'the cards that were found' })
  await page.click('.mcard:has-text("Airtable")')
  await page.waitForSelector('#input-AIRTABLE_API_KEY')
  // The preview follows the form after an answer of the hub.
  await page.waitForSelector('aside pre.code:has-text("airtable-mcp-server@")')
  const install = page.locator('form button.pri')
  expect(await install.isDisabled()).toBe(true)
  await page.fill('#input-AIRTABLE_API_KEY', 'key-0123456789abcdef')
  await page.waitForSelector('form button.pri:not([disabled])')
  await install.click()
  await page.waitForURL(/admin~airtable/)
  const record = await admin.ok('GET', '/api/servers/admin~airtable')
  expect([record.enabled, JSON.stringify(record).includes('key-0123456789abcdef')]).toEqual([false, false])
  await tab.close()
})

test('an open console loses the market with its plugin, and every link to it, and has it again', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const links = page.locator('a[href$="/market"]')
  await tab.open('/servers/new')
  await page.waitForSelector('.rail a[href$="/market"]')
  expect(await links.count()).toBeGreaterThan(1)
  await admin.ok('PATCH', '/api/admin/plugins/market', { enabled: false })
  await until(async () => (await links.count()) === 0, { what: 'the links to be gone' })
  await tab.go('/market', '.empty')
  expect(await page.textContent('main')).toContain('It belongs to the plugin market, which does not run.')
  await admin.ok('PATCH', '/api/admin/plugins/market', { enabled: true })
  await page.waitForSelector('.mcard')
  await page.waitForSelector('.rail a[href$="/market"]')
  await tab.close()
})

/** The source lists this version from now on; `mode` is the default of its only input. */
async function list(version: string, mode: string): Promise<void> {
  const environmentVariables = [{ name: 'MODE', value: mode }]
  const one = { registryType: 'npm', identifier: 'versioned', version, transport: { type: 'stdio' } }
  const described = { name: 'com.example/versioned', title: 'Versioned', description: 'Has versions', version }
  const meta = { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } }
  listed = [{ server: { ...described, packages: [{ ...one, environmentVariables }] }, _meta: meta }]
  await admin.ok('POST', '/api/market/sources/mine/refresh')
}

const template = async () => (await admin.ok('GET', '/api/servers/torn')).template

test('another version is looked over, its conflict decided, done, and undone', async () => {
  await list('1.0.0', 'slow')
  const path = `/api/market/templates/${ID}/install`
  const { planHash } = await admin.ok('POST', `${path}?dryRun=true`, { name: 'torn' })
  await admin.ok('POST', path, { name: 'torn', planHash })
  await admin.ok('PATCH', '/api/servers/torn', { env: { MODE: 'mine' } })
  await list('2.0.0', 'fast')
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/market?installed=true')
  await page.waitForSelector('.mcard:has-text("1.0.0 → 2.0.0")')
  await page.click('.updates a:has-text("Review the change")')
  await page.waitForSelector('.clash:has-text("/env/MODE")')
  expect(await page.textContent('.clash dl')).toMatch(/slow.*mine.*fast/s)
  const body = await page.textContent('.pb-drawer .body')
  expect(body).toContain('versioned@1.0.0')
  expect(body).toContain('versioned@2.0.0')
  const deed = page.locator('.dfoot button:has-text("Change to 2.0.0")')
  expect(await deed.isDisabled()).toBe(true)
  await page.click('.clash button:has-text("Keep mine")')
  expect(await axe(tab)).toEqual([])
  await deed.click()
  await page.waitForSelector('text=torn is now of version 2.0.0')
  expect(await admin.ok('GET', '/api/servers/torn')).toMatchObject({ env: { MODE: 'mine' } })
  await page.waitForSelector('.updates', { state: 'detached' })
  await tab.open(`/market/${ID}`)
  await page.click('aside a:has-text("Back to 1.0.0")')
  await page.waitForSelector('.clash')
  // A plan made before the last choice cannot be carried out.
  const held = Promise.withResolvers<void>()
  await page.route('**/downgrade?dryRun=true', route => held.promise.then(() => route.continue()))
  await page.click('.clash button:has-text("Keep mine")')
  const back = page.locator('.dfoot button:has-text("Change to 1.0.0")')
  expect(await back.isDisabled()).toBe(true)
  held.resolve()
  await back.click()
  await page.waitForSelector('text=torn is now of version 1.0.0')
  expect((await template()).version).toBe('1.0.0')
  await page.waitForSelector('aside a:has-text("Upgrade to 2.0.0")')
  await tab.close()
})

test('a bundle is sent, filled in and installed, in Chinese on a phone', async () => {
  const manifest = {
    ...MANIFEST,
    user_config: {
      token: { type: 'string', title: 'Token', description: 'Of the shop', required: true, sensitive: true },
    },
    server: {
      ...MANIFEST.server,
      mcp_config: { ...MANIFEST.server.mcp_config, env: { TOKEN: '${user_config.token}' } },
    },
  }
  const buffer = await packed(manifest, { 'server/index.js': '' })
  const tab = await openTab(browser, hub, admin, { ...PHONE, language: 'zh', theme: 'dark' })
  const { page } = tab
  await tab.open('/servers/new?way=bundle')
  const file = (name: string, content: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer: content })
  await page.setInputFiles('#bundle-file', file('wrong.mcpb', Buffer.from('no archive')))
  await page.waitForSelector('[role=alert] code:has-text("bundle_invalid")')
  await page.setInputFiles('#bundle-file', file('shut-in.mcpb', buffer))
  await page.waitForSelector('h2:has-text("shut-in")')
  const deed = page.locator('button:has-text("安装")')
  await page.waitForSelector('text=尚缺：token')
  expect(await deed.isDisabled()).toBe(true)
  await page.fill('#bundle-token', 'a-canary-that-is-secret')
  await page.waitForSelector('text=尚缺', { state: 'detached' })
  expect(await axe(tab)).toEqual([])
  await tab.fitsSideways()
  await deed.click()
  await page.waitForSelector('h1:has-text("shut-in")')
  expect(await admin.ok('GET', '/api/servers/shut-in')).toMatchObject({ enabled: false })
  await tab.close()
})
