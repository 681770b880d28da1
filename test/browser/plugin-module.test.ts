/** Pages of plugins from elsewhere on the module `patchbay/console`, and the policy that lets them have it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Client, type Hub, ROOT, startHub } from '../support/hub.ts'
import { makeTemp } from '../support/temp.ts'
import { axe, openBrowser, openTab, PHONE } from './support/console.ts'

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
