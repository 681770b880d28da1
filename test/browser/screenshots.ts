/**
 * Writes a picture of every page of the console, of a hub with real servers and calls, to a folder: wide and phone, light and
 * dark, the wide ones in Chinese as well; pages that load, that are empty and that failed.
 *
 *   bun run screenshots [folder]     default: out/screenshots
 *   bun run screenshots out/s --only servers
 *   bun run screenshots --docs       the pictures of docs/console.md and README
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import type { Hub } from '../support/hub.ts'
import { until } from '../support/wait.ts'
import { type ConsoleTab, openBrowser, openTab, PHONE, type View } from './support/console.ts'
import { startFilledHub } from './support/filled-hub.ts'
import { questionsOf, quiet } from './support/words.ts'

/** Pictures that are taken at the same time: half of one is waiting for what the page asked. */
const AT_ONCE = 4

/** Longer than anything on a page moves. */
const MOTION_MS = 600

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, docs: { type: 'boolean' } },
})
const folder = positionals[0] ?? 'out/screenshots'

const PAGES: Readonly<Record<string, string>> = {
  dashboard: '/',
  servers: '/servers',
  'add-server': '/servers/new',
  'server-overview': '/servers/admin~everything',
  'server-tools': '/servers/admin~everything?tab=tools',
  'server-settings': '/servers/admin~everything?tab=settings',
  'server-offline': '/servers/admin~intranet',
  groups: '/groups',
  'patch-bay': '/groups?view=bay',
  group: '/groups/admin~coding',
  market: '/market',
  'market-template': '/market/bundled:airtable',
  logs: '/logs',
  monitoring: '/monitoring',
  alerts: '/alerts',
  'alerts-rules': '/alerts?tab=rules',
  'alerts-channels': '/alerts?tab=channels',
  guards: '/guards',
  assistant: '/assistant',
  keys: '/keys',
  settings: '/settings',
  'settings-hub': '/settings/hub',
  users: '/admin/users',
  plugins: '/admin/plugins',
  audit: '/admin/audit',
  reference: '/reference',
  'not-found': '/no/such/page',
}

/** Tabs and sections of these pages: they load, are empty and fail as the page does, so that a few views show them. */
const PARTS: Readonly<Record<string, string>> = {
  'dashboard-board': '/?tab=system-overview',
  'server-prompts': '/servers/admin~everything?tab=prompts',
  'server-resources': '/servers/admin~everything?tab=resources',
  'server-logs': '/servers/admin~everything?tab=logs',
  'server-metrics': '/servers/admin~everything?tab=metrics',
  'server-access': '/servers/admin~everything?tab=access',
  'group-new': '/groups/new',
  'group-connect': '/groups/admin~coding?connect=claude-desktop',
  'alerts-history': '/alerts?tab=history',
  'alerts-silences': '/alerts?tab=silences',
  'alerts-rule': '/alerts/rules/new',
  'alerts-channel': '/alerts/channels/new',
  'settings-keys': '/settings/hosted-keys',
  'settings-appearance': '/settings/appearance',
  'settings-limits': '/settings/limits',
  'settings-logs': '/settings/logs',
  'settings-raw': '/settings/raw',
}

const PART_VIEWS: readonly string[] = ['light', 'phone-dark', 'zh']

const VIEWS: Readonly<Record<string, View>> = {
  light: {},
  dark: { theme: 'dark' },
  'phone-light': PHONE,
  'phone-dark': { ...PHONE, theme: 'dark' },
  zh: { language: 'zh' },
}

type State = 'ready' | 'loading' | 'empty' | 'error'

async function picture(
  browser: Browser,
  hub: Hub,
  who: Client,
  page: string,
  view: string,
  state: State,
): Promise<void> {
  const path = PAGES[page] ?? PARTS[page] ?? '/'
  const tab = await openTab(browser, hub, who, VIEWS[view])
  // Answers of the hub are held back or refused; the page itself is the real one.
  if (state === 'loading') await tab.page.route(/\/(?:api|health)\b(?!\/stream)/, () => {})
  if (state === 'error') {
    const body = JSON.stringify({
      title: 'The database is not available',
      status: 503,
      code: 'storage_unavailable',
      detail: 'The database does not answer',
      requestId: 'r-1',
    })
    await tab.page.route(/\/api\/(?!stream|auth)/, route =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body }),
    )
  }
  await tab.page.goto(`${hub.url}${path}`)
  await tab.page.waitForSelector('main')
  if (state !== 'loading') await filled(tab, `${page} ${view} ${state}`)
  await tab.page.waitForTimeout(MOTION_MS)
  await tab.page.screenshot({
    path: join(folder, `${page}.${view}${state === 'ready' ? '' : `.${state}`}.png`),
    fullPage: state === 'ready',
  })
  await tab.close().catch(error => console.error(`${page} ${view} ${state}: ${(error as Error).message}`))
}

/**
 * Waits until each part of the page shows its data or its error. Later refreshes are not waited for: the page of a busy hub
 * always has one under way.
 */
async function filled({ page }: ConsoleTab, what: string): Promise<void> {
  const waiting = page.locator('main [aria-busy="true"]')
  const still = async (): Promise<boolean> => (await page.locator('h1').count()) > 0 && (await waiting.count()) === 0
  await until(
    async () => {
      if (!(await still())) return false
      await page.waitForTimeout(MOTION_MS / 2)
      return still()
    },
    { what, intervalMs: 50 },
  ).catch(() => console.error(`${what}: a part of the page still waits`))
}

/** The pictures that the documents show: wide, light, one screen high. */
async function documentation(browser: Browser, hub: Hub, who: Client): Promise<void> {
  const target = 'docs/pictures'
  await mkdir(target, { recursive: true })
  for (const [name, path] of [
    ['dashboard', '/'],
    ['add-server', '/servers/new'],
    ['patch-bay', '/groups?view=bay'],
  ] as const) {
    const tab = await openTab(browser, hub, who, { height: 860 })
    const asked = questionsOf(tab)
    await tab.open(path)
    if (name === 'add-server') {
      await tab.page.fill('#pasted', PASTED)
      await tab.page.click('button:has-text("Read it")')
      await tab.page.waitForSelector('pb-entry')
    }
    await quiet(tab, asked)
    await tab.page.waitForTimeout(MOTION_MS)
    await tab.page.screenshot({ path: join(target, `${name}.png`) })
    await tab.close()
  }
}

const PASTED = `{
  "mcpServers": {
    "slack": {
      "command": "npx",
      "args": ["-y", "slack-mcp-server"],
      "env": { "SLACK_BOT_TOKEN": "<YOUR_KEY>" }
    },
    "docs": { "url": "https://mcp.example.com/mcp" },
    "broken": { "comand": "uvx" },
  }
}`

const wantedOf = (pages: Readonly<Record<string, string>>): readonly string[] =>
  Object.keys(pages).filter(page => values.only === undefined || page.startsWith(values.only))
await mkdir(folder, { recursive: true })
const browser = await openBrowser()
const { hub, admin, other } = await startFilledHub()
try {
  if (values.docs) await documentation(browser, hub, admin)
  const take = (who: Client, page: string, view: string, state: State) => () =>
    picture(browser, hub, who, page, view, state)
  const pages = values.docs ? [] : wantedOf(PAGES)
  const parts = values.docs ? [] : wantedOf(PARTS)
  const pictures = pages.flatMap(page => [
    ...Object.keys(VIEWS).map(view => take(admin, page, view, 'ready')),
    take(admin, page, 'light', 'loading'),
    take(admin, page, 'light', 'error'),
    // A user who has nothing yet.
    take(other, page, 'light', 'empty'),
  ])
  pictures.push(...parts.flatMap(page => PART_VIEWS.map(view => take(admin, page, view, 'ready'))))
  const lane = async (): Promise<void> => {
    for (let next = pictures.shift(); next; next = pictures.shift()) await next()
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  for (const view of values.docs ? [] : ['light', 'dark', 'phone-light']) {
    const tab = await openTab(browser, hub, undefined, VIEWS[view])
    await tab.open('/')
    await tab.page.screenshot({ path: join(folder, `sign-in.${view}.png`) })
    await tab.close()
  }
  console.log(
    values.docs ? 'docs/pictures is written' : `${pages.length} pages and ${parts.length} parts of them in ${folder}`,
  )
} finally {
  await browser.close()
  await hub.stop()
}
