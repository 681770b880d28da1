/** Pages of plugins: those from elsewhere on the module `patchbay/console`, and those of bundled plugins that are off. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { makeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'
import { axe, type ConsoleTab, openBrowser, openTab, PHONE } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const folder = await makeTemp('hub')
  await cp(join(ROOT, 'examples/library'), join(folder, 'plugins/library'), { recursive: true })
  await mkdir(join(folder, 'node_modules'))
  for (const name of ['zod', 'kysely'])
    await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  const plugins = [{ use: './plugins/library/plugin.ts', isolate: false }]
  hub = await startHub({ folder, settings: { plugins }, env: { BASE_PATH: '/hub' } })
  admin = await hub.setup()
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('a page from elsewhere uses the elements, the client and the words of the console, and its one copy of Lit', async () => {
  const tab = await openTab(browser, hub, admin, { ...PHONE, theme: 'dark', language: 'zh' })
  await tab.open('/x/library/library')
  await tab.page.waitForSelector('library-page .empty:has-text("您还没有书")')
  expect(await axe(tab)).toEqual([])
  await admin.ok('POST', '/api/plugins/library/books', { title: 'Emma' })
  await tab.page.reload()
  await tab.page.waitForSelector('library-page .list li:has-text("Emma")')
  const copies = await tab.page.evaluate(() => {
    const { litElementVersions, reactiveElementVersions, litHtmlVersions } = globalThis as Record<string, unknown>
    return [litElementVersions, reactiveElementVersions, litHtmlVersions].map(each => (each as string[]).length)
  })
  expect(copies).toEqual([1, 1, 1])
  await tab.close()
})

test('the policy allows the import map alone of what is written into the page', async () => {
  const answer = await fetch(`${hub.url}/servers`, { headers: { accept: 'text/html' } })
  const [, map = ''] = /<script type="importmap">(.*?)<\/script>/.exec(await answer.text()) ?? []
  expect(Object.keys(JSON.parse(map).imports)).toEqual(['patchbay/console'])
  const hash = createHash('sha256').update(map).digest('base64')
  const [scripts] = /script-src [^;]*/.exec(answer.headers.get('content-security-policy') ?? '') ?? []
  expect(scripts).toBe(`script-src 'self' 'sha256-${hash}'`)
  const page = await browser.newPage()
  const refused: string[] = []
  page.on('console', message => refused.push(message.text()))
  await page.route('**/servers', async route => {
    const response = await route.fetch()
    const body = (await response.text()).replace('</head>', '<script>document.title = "taken"</script></head>')
    await route.fulfill({ response, body })
  })
  await page.goto(`${hub.url}/servers`)
  await page.waitForSelector('#user')
  expect(await page.title()).not.toBe('taken')
  expect(refused.filter(text => text.includes('inline script'))).toHaveLength(1)
  await page.close()
})

/** Pages of bundled plugins, with an element of each. */
const PAGES: readonly (readonly [string, string, string])[] = [
  ['market', '/market', '.filters'],
  ['oauth-client', '/connections', 'pb-page-connections h1'],
  ['oauth-client', '/connect/none', 'pb-connect-server h1'],
  ['oauth-client', '/oauth/callback', 'pb-callback h1'],
  ['oauth-server', '/apps', 'pb-page-apps h1'],
  ['oauth-server', '/admin/clients', 'pb-page-clients h1'],
  ['oauth-server', '/consent', 'pb-consent h1'],
  ['sign-in', '/settings/factors', 'pb-factors h2'],
  ['bundles', '/servers/new?way=bundle', '#bundle-file'],
]

async function show(tab: ConsoleTab, path: string, sign: string): Promise<void> {
  await tab.open(path)
  await tab.page.waitForSelector(sign)
}

test('a page of a plugin that is off names the plugin, to administrators with the way to it, and comes back with it', async () => {
  const user = await hub.user('mia')
  const tab = await openTab(browser, hub, admin)
  for (const [, path, sign] of PAGES) await show(tab, path, sign)
  const names = [...new Set(PAGES.map(([plugin]) => plugin))]
  const set = (enabled: boolean) =>
    Promise.all(names.map(name => admin.ok('PATCH', `/api/admin/plugins/${name}`, { enabled })))
  await set(false)
  for (const [plugin, path] of PAGES.filter(([name]) => name !== 'bundles')) {
    await show(tab, path, `.empty:has-text("It belongs to the plugin ${plugin}, which does not run.")`)
    expect(await tab.page.getAttribute('.empty a', 'href')).toBe(`/hub/admin/plugins?plugin=${plugin}`)
  }
  await show(tab, '/servers/new?way=bundle', '#pasted')
  expect(await axe(tab)).toEqual([])
  for (const path of ['/', '/servers', '/servers/new', '/keys', '/settings']) {
    await show(tab, path, 'h1')
    const links = tab.page.locator('a[href*="/market"], a[href$="/connections"], a[href$="/apps"], a[href$="/factors"]')
    // The running plugins are known a moment after the page.
    await until(async () => (await links.count()) === 0, { what: `no link at ${path}` })
  }
  const other = await openTab(browser, hub, user, { ...PHONE, language: 'zh' })
  await other.open('/consent')
  await other.page.waitForSelector('.empty:has-text("管理员可以启用它")')
  expect(await other.page.locator('.empty a[href*="/admin"]').count()).toBe(0)
  await show(other, '/admin/clients', '.empty:has-text("管理员")')
  await other.close()
  await show(tab, '/apps', '.empty')
  expect(await tab.page.title()).toBe('Connected apps · Patchbay')
  await set(true)
  await tab.page.waitForSelector('pb-page-apps h1')
  await tab.close()
}, 120_000)
