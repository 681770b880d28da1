/** Access to the console, from the first start on, and what is sent to each person. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Browser } from 'playwright-core'
import { extent } from '../support/extent.ts'
import { freePort } from '../support/free-port.ts'
import { type Hub, LOOPBACK, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { atMost } from '../support/pace.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, openTab, PHONE, type View } from './support/console.ts'

const DIST = join(import.meta.dir, '../../ui/dist')
const KB = 1000
/** Most bytes of each kind, compressed by gzip. */
const MOST = { entry: 130 * KB, style: 20 * KB, chunk: 40 * KB, words: 50 * KB, editor: 150 * KB, script: 350 * KB }

interface Manifest {
  readonly entry: string
  readonly preload: readonly string[]
  readonly style: string
  readonly sprite: string
}

const manifest = JSON.parse(readFileSync(join(DIST, 'manifest.json'), 'utf8')) as Manifest
const zipped = (path: string): number => statSync(join(DIST, `${path}.gz`)).size

let browser: Browser
let hub: Hub
let env: Record<string, string>

beforeAll(async () => {
  browser = await openBrowser()
  env = { PORT: String(await freePort()), ...LOOPBACK }
  // A new hub has these settings.
  const mcpServers = { sample: stdioFixture('echo') }
  hub = await startHub({ env, settings: { mcpServers, groups: [{ name: 'sample', servers: ['sample'] }] } })
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('files loaded before the first page stay within their budget', () => {
  const entry = [manifest.entry, ...manifest.preload].reduce((sum, path) => sum + zipped(path), 0)
  console.log(`entry ${entry}, style ${zipped(manifest.style)}, sprite ${zipped(manifest.sprite)} bytes`)
  expect(entry).toBeLessThanOrEqual(MOST.entry)
  expect(zipped(manifest.style)).toBeLessThanOrEqual(MOST.style)
})

test('no chunk of a page is larger than its budget; the editor of JSON and the words of a language have their own', () => {
  const early = new Set([manifest.entry, ...manifest.preload])
  const chunks = readdirSync(join(DIST, 'assets'))
    .filter(name => name.endsWith('.js') && !early.has(`assets/${name}`))
    .map(name => ({ name, bytes: zipped(`assets/${name}`), text: readFileSync(join(DIST, 'assets', name), 'utf8') }))
  const mostOf = (text: string): number => {
    if (text.includes('cm-editor')) return MOST.editor
    return text.includes('"来自市场"') || text.includes('"审批"') ? MOST.words : MOST.chunk
  }
  const over = chunks.filter(({ bytes, text }) => bytes > mostOf(text)).map(({ name, bytes }) => `${name}: ${bytes}`)
  console.log(
    `largest chunks: ${chunks
      .map(({ bytes }) => bytes)
      .sort((a, b) => b - a)
      .slice(0, 5)
      .join(', ')} bytes`,
  )
  expect(over).toEqual([])
})

test('the library is not its development build', () => {
  const texts = readdirSync(join(DIST, 'assets'))
    .filter(name => name.endsWith('.js'))
    .map(name => readFileSync(join(DIST, 'assets', name), 'utf8'))
  expect(texts.some(text => text.includes('Lit is in dev mode'))).toBe(false)
})

test('a newcomer: from the first start to a tool called by a real client, in at most 12 clicks and one paste', async () => {
  const token = await until(() => hub.setupToken, { what: 'the set-up token' })
  const tab = await openTab(browser, hub)
  const { page } = tab
  let clicks = 0
  const click = async (selector: string): Promise<void> => {
    clicks += 1
    await page.click(selector)
  }
  const setUp = async (token: string): Promise<void> => {
    await page.fill('#token', token)
    await page.keyboard.press('Enter')
    await page.fill('#name', 'admin')
    await page.fill('#password', PASSWORD)
    await page.keyboard.press('Enter')
  }
  await tab.open('/')
  await setUp('not-the-token')
  await page.waitForSelector('text=token_invalid')
  await setUp(token)
  await page.waitForSelector('text=How clients reach the hub')
  await click('text=Skip')
  await click('text=Skip')
  await click('text=To the dashboard')
  await page.waitForSelector('h1:has-text("Welcome")')
  // The page and the token are gone.
  const setup = await fetch(`${hub.url}/setup`, { headers: { accept: 'text/html' } })
  expect(setup.status).toBe(404)
  expect((await fetch(`${hub.url}/api/setup`)).status).toBe(404)
  const { command, args } = stdioFixture('echo') as { command: string; args: string[] }
  // The box has the focus: text copied elsewhere can be pasted without a click, and is read at once.
  await page.waitForFunction(() => document.activeElement?.id === 'paste')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const copied = JSON.stringify({ mcpServers: { mine: { command, args }, yours: { command, args } } })
  await page.evaluate(text => navigator.clipboard.writeText(text), copied)
  await page.keyboard.press('Control+V')
  await page.waitForSelector('pb-entry')
  await click('section.entry .foot button.pri')
  await page.waitForURL(/\/servers$/)
  await online(await hub.signIn('admin'), ['mine', 'yours'])
  // This group is made beside the one that came with the sample server.
  await click('nav a[href="/groups"]')
  await page.waitForSelector('pb-table >> text=sample')
  await click('main button:has-text("Group all online servers")')
  await page.waitForURL(/admin~all/)
  await click('button:has-text("Connect a client")')
  await click('pb-connect >> text=Make key')
  await page.waitForFunction(() => document.querySelector('pb-connect .connect-text')?.textContent?.includes('pb_'))
  const secret =
    /pb_[A-Za-z0-9_-]+/.exec((await page.locator('pb-connect .connect-text').textContent()) ?? '')?.[0] ?? ''
  expect(secret).not.toBe('')
  const client = new McpClient({ name: 'newcomer', version: '1' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/all`), {
      requestInit: { headers: { authorization: `Bearer ${secret}` } },
    }),
  )
  const { tools } = await client.listTools()
  const result = await client.callTool({
    name: tools.find(({ name }) => name.endsWith('echo'))?.name ?? '',
    arguments: { text: 'hello', message: 'hello' },
  })
  expect(JSON.stringify(result)).toContain('hello')
  await page.waitForSelector('text=/Connected, newcomer/')
  await client.close()
  console.log(`${clicks} clicks`)
  expect(clicks).toBeLessThanOrEqual(12)
  await tab.close()
}, 300_000)

const VIEWS: readonly (readonly [string, View])[] = [
  ['English, light, phone', PHONE],
  ...extent<readonly (readonly [string, View])[]>(
    [],
    [
      ['Chinese, dark, wide', { language: 'zh', theme: 'dark' }],
      ['English, light, wide', {}],
    ],
  ),
]

test.each(VIEWS)('sign-in, a deep link kept, reload, sign out, Back: %s', async (_, view) => {
  const tab = await openTab(browser, hub, undefined, view)
  const { page } = tab
  await page.goto(`${hub.url}/admin/audit?user=admin`)
  await page.waitForSelector('#user')
  expect(await axe(tab)).toEqual([])
  // Nothing of the hub is on the page before somebody has signed in.
  expect(await page.textContent('body')).not.toContain('setup.complete')
  const said: string[] = []
  for (const [name, password] of [
    ['admin', 'wrong'],
    ['nobody', 'wrong'],
  ] as const) {
    await page.fill('#user', name)
    await page.fill('#password', password)
    await page.keyboard.press('Enter')
    const alert = page.locator('[role=alert]')
    await alert.waitFor()
    said.push((await alert.textContent()) ?? '')
    await until(async () => !(await page.locator('button.pri').isDisabled()), {
      timeoutMs: 60_000,
      what: 'the next attempt',
    })
  }
  // No word on which half was wrong.
  expect(said[0]).toBe(said[1])
  await page.fill('#user', 'admin')
  await page.fill('#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForSelector('td:has-text("setup.complete")')
  expect(new URL(page.url()).search).toBe('?user=admin')
  await page.reload()
  await page.waitForSelector('td:has-text("setup.complete")')
  await tab.fitsSideways()
  await page.evaluate(() => document.querySelector<HTMLElement>('a.brand')?.click())
  await page.waitForFunction(() => !location.pathname.includes('audit'))
  if (view.touch) await page.evaluate(() => document.querySelector<HTMLElement>('.avatar')?.click())
  else await page.click('.avatar')
  await page.click('wa-dropdown-item >> nth=-1')
  await page.waitForSelector('#user')
  await page.goBack()
  await page.waitForSelector('#user')
  expect(await page.textContent('body')).not.toContain('setup.complete')
  await tab.close()
})

test('a page of the console has its policy, and its files may be kept for ever', async () => {
  const html = { accept: 'text/html' }
  const page = await fetch(`${hub.url}/servers/ann~x`, { headers: html })
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
  expect(page.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'")
  expect(page.headers.get('cache-control')).toBe('no-cache')
  const text = await page.text()
  const entry = /<script type="module" src="([^"]+)"/.exec(text)?.[1] ?? ''
  for (const [encoding, coding] of [
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['identity', null],
  ] as const) {
    const script = await fetch(`${hub.url}${entry}`, { headers: { 'accept-encoding': encoding } })
    expect(script.status).toBe(200)
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(script.headers.get('content-encoding')).toBe(coding)
    expect(await script.text()).toContain('pb-app')
  }
  expect((await fetch(`${hub.url}/no/such/page`, { headers: html })).status).toBe(404)
  // Pages of plugins too.
  const places = [
    '/keys',
    '/market/x',
    '/logs',
    '/guards',
    '/connections',
    '/connect/x',
    '/apps',
    '/consent',
    '/signin/callback',
  ]
  for (const path of places)
    expect([path, (await fetch(`${hub.url}${path}`, { headers: html })).status]).toEqual([path, 200])
  expect((await fetch(`${hub.url}/assets/..%2fmanifest.json`)).status).toBe(400)
  expect((await fetch(`${hub.url}/assets/manifest.json`)).status).toBe(404)
  expect((await fetch(`${hub.url}/servers`)).status).toBe(404)
})

test('a second user sees nothing of others but what is public, read-only; a restart of the hub under an open page', async () => {
  const admin = await hub.signIn('admin')
  await admin.ok('POST', '/api/servers', { name: 'notes', ...stdioFixture('echo') })
  await admin.ok('POST', '/api/servers', { name: 'open', ...stdioFixture('echo'), visibility: 'public' })
  await admin.ok('POST', '/api/admin/users', { username: 'li.wei', password: PASSWORD, role: 'user' })
  const user = await hub.signIn('li.wei')
  await user.ok('POST', '/api/servers', { name: 'notes', url: 'http://127.0.0.1:9/mcp' })
  await online(admin, ['open'])
  const tab = await openTab(browser, hub, user)
  const { page } = tab
  await tab.open('/servers')
  await page.waitForSelector('td:has-text("open")')
  // There is one "notes", the user's own; the administrator's server of that name is not shown.
  expect(await page.locator('tbody tr[data-key]').count()).toBe(2)
  await tab.open('/servers/admin~open')
  await page.waitForSelector('text=admin')
  expect(await page.locator('button:has-text("Stop server")').count()).toBe(0)
  expect(await page.locator('main').textContent()).not.toContain(process.execPath)
  await page.goto(`${hub.url}/servers/admin~notes`)
  await page.waitForSelector('[role=alert]')
  const foreign = await page.locator('main').textContent()
  await page.goto(`${hub.url}/servers/admin~nothing`)
  await page.waitForSelector('[role=alert]')
  // A server of somebody else looks like one that does not exist.
  const scrub = (text: string | null): string =>
    (text ?? '').replace(/notes|nothing/g, 'X').replace(/(?<=_not_found)[0-9a-f]{16}/g, 'id')
  expect(scrub(foreign)).toBe(scrub(await page.locator('main').textContent()))
  await tab.open('/servers/new')
  await page.fill('#pasted', 'http://127.0.0.1:9/draft')
  await hub.stop({ keep: true })
  await page.waitForSelector('.banner')
  hub = await startHub({ folder: hub.folder, env })
  await page.waitForSelector('.banner', { state: 'detached', timeout: 120_000 })
  await page.waitForSelector('.live:has-text("Live")')
  expect(await page.inputValue('#pasted')).toBe('http://127.0.0.1:9/draft')
  await tab.close()
}, 300_000)

test('the first paint with an empty cache comes within 500 ms, in two of three tabs', async () => {
  const admin = await hub.signIn('admin')
  const paints: number[] = []
  const fits = (): number => paints.filter(ms => ms < atMost(500)).length
  // A third one is measured only if it decides.
  while (paints.length < 3 && fits() < 2) {
    const tab = await openTab(browser, hub, admin, { emptyCache: true })
    await tab.open('/')
    paints.push(
      await tab.page.evaluate(
        () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
      ),
    )
    await tab.close()
  }
  console.log(`first contentful paint: ${paints.map(Math.round).join(', ')} ms`)
  expect([paints, fits()]).toEqual([paints, 2])
}, 120_000)
