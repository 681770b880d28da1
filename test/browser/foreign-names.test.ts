/** Names that hide characters or hold markup, on the pages of the console: shown as `⟨U+202E⟩`, and as text alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { FOREIGN_NAMES, hiddenIn } from '../support/foreign-names.ts'
import { type Client, type Hub, LOOPBACK, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { openBrowser, openTab } from './support/console.ts'

/** Titles that people may give to widgets. */
const MARKUP = ['<b>bold', '<img src=x onerror=alert(1)>']
const NAMES = JSON.stringify(FOREIGN_NAMES).replace(
  /[$\x7f-\uffff]/g,
  unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
)

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({
    env: LOOPBACK,
    settings: {
      mcpServers: { named: stdioFixture('named', { NAMES, ARGUMENTS: 'true' }) },
      plugins: [{ use: join(import.meta.dir, '../http/fixtures/foreign-plugin.ts'), isolate: false }],
    },
  })
  admin = await hub.setup()
  await online(admin, ['named'])
  await admin.ok('POST', '/api/groups', { name: 'some', members: ['named'] })
  const widgets = MARKUP.flatMap(title => [
    { type: 'table', title, query: 'tools' },
    { type: 'chart', title, query: 'request_count by tool' },
  ])
  await admin.ok('POST', '/api/monitoring/dashboards', { name: 'board', widgets })
  const client = await admin.mcp('/mcp/named')
  for (const { name } of (await client.listTools()).tools)
    await client.callTool({ name, arguments: { fail: true } }).catch(() => undefined)
  await until(async () => (await admin.ok('GET', '/api/logs/search?q=tools/call')).total >= FOREIGN_NAMES.length)
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Every text of the page, every attribute that is read aloud or shown, and every value of a field. */
function textsOf(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const found = new Set<string>()
    const walk = (root: Document | ShadowRoot): void => {
      const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
      for (let text = texts.nextNode(); text; text = texts.nextNode())
        if (!text.parentElement?.closest('script, style')) found.add(text.textContent ?? '')
      for (const one of root.querySelectorAll('*')) {
        for (const name of [
          'title',
          'aria-label',
          'aria-description',
          'alt',
          'placeholder',
          'label',
          'heading',
          'data-l',
        ])
          if (one.hasAttribute(name)) found.add(one.getAttribute(name) ?? '')
        // The value of an option or a check box is no text.
        if (one instanceof HTMLTextAreaElement || (one instanceof HTMLInputElement && one.type === 'text'))
          found.add(one.value)
        if (one.shadowRoot) walk(one.shadowRoot)
      }
    }
    walk(document)
    found.add(document.title)
    return [...found]
  })
}

const TOOL = encodeURIComponent('safe⟨U+202E⟩gnp.exe')
/** A page, a sign that it is drawn, and whether a marked character is on it. */
const PLACES: readonly (readonly [path: string, sign: string, marked: boolean])[] = [
  ['/', '.feed li', false],
  ['/?tab=user-activity', '.wtable td', true],
  ['/?tab=board', '.wtable td', true],
  ['/servers/admin~named', '.minis', true],
  [`/servers/admin~named?tab=tools&tool=${TOOL}`, 'pb-try-tool', true],
  ['/servers/admin~named?tab=prompts', '.parts', true],
  ['/servers/admin~named?tab=resources', '.parts', true],
  ['/servers/admin~named?tab=logs', '.loglist', true],
  ['/servers/admin~named?tab=metrics', 'pb-server-metrics td', true],
  ['/groups/admin~some', '.geg', false],
  ['/logs', 'tr[data-key]', true],
  ['/monitoring', 'pb-chart h2', true],
  ['/alerts/channels/new', '#channel-name, .card', true],
  ['/admin/plugins?plugin=foreign-texts', 'wa-drawer h2', true],
  ['/market?drawer=sources', 'wa-drawer .list li', true],
]

test('every text, title and label shows hidden characters, and no markup becomes an element', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const dialogs: string[] = []
  page.on('dialog', dialog => {
    dialogs.push(dialog.message())
    void dialog.dismiss()
  })
  for (const [path, sign, marked] of PLACES) {
    await tab.go(path, sign)
    if (marked)
      await until(async () => (await textsOf(page)).some(text => text.includes('⟨U+')), { what: `⟨U+…⟩ on ${path}` })
    expect([path, hiddenIn(await textsOf(page))]).toEqual([path, []])
    expect([path, await page.locator('img[src="x"], a[href^="https://evil"]').count()]).toEqual([path, 0])
  }
  expect(dialogs).toEqual([])
  await tab.close()
}, 120_000)
