/** The list of servers, and one server: its tools tried, its settings, and what others see of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import type { Client } from '../support/client.ts'
import { extent } from '../support/extent.ts'
import { type Hub, LOOPBACK, ROOT, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { until } from '../support/wait.ts'
import { openBrowser, openTab } from './support/console.ts'

/** Further tools of the fixture `linking`, whose addresses are no links. */
const REFUSED_LINKS = ['bracket', 'port', 'data', 'empty', 'hidden', 'person']

let browser: Browser
let hub: Hub
let admin: Client
let ben: Client

const EVERYTHING = `${ROOT}/node_modules/@modelcontextprotocol/server-everything/dist/index.js`
const MEMORY = `${ROOT}/node_modules/@modelcontextprotocol/server-memory/dist/index.js`

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  ben = await hub.user('ben')
  const servers = [
    { name: 'everything', command: 'node', args: [EVERYTHING] },
    {
      name: 'memory',
      command: 'node',
      args: [MEMORY],
      env: { API_TOKEN: 'sk-secret-of-a-test' },
      secrets: ['/env/API_TOKEN'],
    },
    { name: 'asking', ...stdioFixture('asking') },
    { name: 'linking', ...stdioFixture('linking') },
    { name: 'slow', ...stdioFixture('slow') },
    { name: 'echo', ...stdioFixture('echo') },
    { name: 'resting', ...stdioFixture('echo'), enabled: false },
    { name: 'nowhere', command: 'no-such-program-of-a-test' },
  ]
  for (const body of servers) await admin.ok('POST', '/api/servers', body)
  await admin.ok('POST', '/api/groups', { name: 'daily', members: [{ server: 'echo' }] })
  await online(admin, ['everything', 'memory', 'asking', 'linking', 'slow', 'echo'])
}, 120_000)

afterAll(async () => {
  await hub?.stop()
}, 120_000)

test('faults stand first, search and chips narrow the list, and the address holds the view', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers')
  await page.waitForSelector('tr[data-key="admin~nowhere"] .st.bad')
  expect(await page.getAttribute('tbody tr:first-child', 'data-key')).toBe('admin~nowhere')
  await page.keyboard.press('/')
  await page.keyboard.type('ech')
  await page.waitForSelector('tr[data-key="admin~slow"]', { state: 'detached' })
  expect(new URL(page.url()).searchParams.get('q')).toBe('ech')
  await page.fill('[data-search]', 'no server has this name')
  await page.click('text=Clear filters')
  await page.click('.chip:has-text("Stopped")')
  await page.waitForSelector('tr[data-key="admin~echo"]', { state: 'detached' })
  await page.reload()
  await page.waitForSelector('tr[data-key="admin~resting"]')
  expect(await page.locator('tr[data-key]').count()).toBe(1)
  await tab.close()
})

test('the switch stops a server with Undo, x does it by keyboard, and the live stream shows it in another tab', async () => {
  const tab = await openTab(browser, hub, admin)
  const other = await openTab(browser, hub, admin)
  const { page } = tab
  await other.open('/servers')
  await other.page.waitForSelector('tr[data-key="admin~slow"]')
  await tab.open('/servers')
  await page.click('tr[data-key="admin~slow"] [role=switch]')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.rest:has-text("Stopped")')
  await page.click('.toast >> text=Undo')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.ok')
  await page.focus('tr[data-key="admin~slow"]')
  await page.keyboard.press('x')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.rest:has-text("Stopped")')
  await page.waitForSelector('tr[data-key="admin~slow"] .st.rest:has-text("Stopped")')
  await page.keyboard.press('x')
  await other.page.waitForSelector('tr[data-key="admin~slow"] .st.ok')
  await page.keyboard.press('n')
  await page.waitForURL('**/servers/new')
  await tab.close()
  await other.close()
})

test('a bulk deed leaves out servers of others and says so; deleting wants the name and names the groups', async () => {
  await admin.ok('PATCH', '/api/servers/echo', { visibility: 'public' })
  const own = { name: 'mine', url: 'http://127.0.0.1:9/mcp', transport: 'streamable-http' }
  await ben.ok('POST', '/api/servers', own)
  const tab = await openTab(browser, hub, ben)
  const { page } = tab
  await tab.open('/servers')
  await page.waitForSelector('tr[data-key="admin~echo"]')
  expect(await page.locator('tr[data-key="admin~echo"] [role=switch]').count()).toBe(0)
  expect(await page.locator('tr[data-key="admin~slow"]').count()).toBe(0)
  await page.check('thead input[type=checkbox]')
  await page.waitForSelector('.bulk:has-text("belong to admin")')
  await page.click('.bulk >> text=Delete')
  await page.waitForSelector('#confirm-typed')
  const remove = page.locator('wa-dialog[open] .btn.danger')
  expect(await remove.isDisabled()).toBe(true)
  await page.fill('#confirm-typed', 'mine')
  await remove.click()
  await page.waitForSelector('tr[data-key="ben~mine"]', { state: 'detached' })
  expect(await page.locator('tr[data-key="admin~echo"]').count()).toBe(1)
  await tab.close()
})

test('the switch for new tools keeps those that are there as they are', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const shown = async () => {
    const { toolsDefault } = await admin.ok('GET', '/api/servers/slow')
    const { items } = await admin.ok('GET', '/api/servers/slow/tools')
    const off = items.filter((tool: { enabled: boolean }) => !tool.enabled)
    return [toolsDefault ?? 'on', off.map((tool: { name: string }) => tool.name)]
  }
  await admin.ok('PATCH', '/api/servers/slow/tools/quick', { enabled: false })
  await tab.open('/servers/admin~slow?tab=tools')
  const off = page.getByRole('switch', { name: 'New tools are on', checked: true })
  await off.click()
  // Asked more often, this would take the requests a second that its user has away from the page.
  const seldom = { intervalMs: 250 }
  await until(async () => (await shown())[0] === 'off', { what: 'new tools off', ...seldom })
  expect(await shown()).toEqual(['off', ['quick']])
  await page.getByRole('switch', { name: 'New tools are on', checked: false }).click()
  await until(async () => (await shown())[0] === 'on', { what: 'new tools on', ...seldom })
  expect(await shown()).toEqual(['on', ['quick']])
  await admin.ok('PATCH', '/api/servers/slow/tools/quick', { enabled: null })
  await tab.close()
})

test('trying a tool: form and JSON in step, a required field, structured result, request id to its log lines', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/admin~everything?tab=tools&tool=echo')
  await page.click('text=Run tool')
  await page.waitForSelector('.hint.bad:has-text("required")')
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('INPUT')
  await page.keyboard.type('hello there')
  await page.click('.trypane >> text=JSON')
  await page.locator('pb-json-editor').getByText('hello there').waitFor()
  await page.click('.trypane >> text=Form')
  expect(await page.inputValue('pb-schema-form input')).toBe('hello there')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector('.tryres:has-text("Echo: hello there")')
  await page.waitForSelector('.hist li')
  const request = page.locator('.tryres a.mono')
  const id = await request.textContent()
  await request.click()
  await page.waitForURL(`**/logs?requestId=${id}`)
  await tab.close()
})

test('progress is shown, and Cancel reaches the server', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/admin~everything?tab=tools&tool=trigger-long-running-operation')
  await page.click('text=Run tool')
  await page.waitForSelector('svg.prog')
  await page.keyboard.press('Escape')
  await page.waitForSelector('.tryres:has-text("Cancelled")')
  await tab.open('/servers/admin~slow?tab=tools&tool=wait')
  await page.fill('pb-schema-form input', '60000')
  await page.click('text=Run tool')
  await page.waitForSelector('.tryres a.mono')
  await page.click('.runbar >> text=Cancel')
  await page.waitForSelector('.tryres:has-text("Cancelled")')
  // The server lists the calls whose cancellation it received.
  await until(
    async () => {
      const { result } = await admin.ok('POST', '/api/servers/slow/tools/cancelled/call', { arguments: {} })
      return /\d/.test(result.content[0].text)
    },
    { what: 'the cancellation at the server' },
  )
  await tab.close()
})

test('a tool that fails, a server that is not there and a call that the hub refuses look different', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  await tab.open('/servers/admin~everything?tab=tools&tool=get-resource-reference')
  await page.click('.trypane >> text=JSON')
  const editor = page.locator('pb-json-editor .cm-content')
  await editor.fill('{"resourceType": "None of these", "resourceId": 1}')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector('.tryres .resok.warn, .tryres .resok.bad')
  const tool = await page.textContent('.tryres .resok')
  await admin.ok('POST', '/api/servers/slow/stop')
  await tab.open('/servers/admin~slow?tab=tools&tool=quick')
  await page.click('text=Run tool')
  await page.waitForSelector('.tryres .resok.bad')
  const server = await page.textContent('.tryres .resok')
  expect(server).toContain('The server failed')
  expect(tool).not.toBe(server)
  await page.waitForSelector('.callout:has-text("last known list")')
  await admin.ok('POST', '/api/servers/slow/start')
  await tab.close()
})

test('a server asks during a call and gets the answer', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  // Nobody called a tool of this server before: the hub does not know yet that it asks.
  expect((await admin.ok('GET', '/api/servers/asking')).status.session.serverRequests).toBeUndefined()
  await tab.open('/servers/admin~asking?tab=tools&tool=elicit')
  await page.click('text=Run tool')
  await page.waitForSelector('.elic')
  await page.click('.elic >> text=Decline')
  await page.waitForSelector('.tryres:has-text("decline")')
  await tab.open('/servers/admin~asking?tab=tools&tool=sample')
  await page.click('text=Run tool')
  await page.fill('#sampling-answer', 'an answer by hand')
  await page.click('.elic .btn.pri')
  await page.waitForSelector('.tryres:has-text("an answer by hand")')
  await tab.close()
})

test('an address that a server asks to open is a link only where it is plainly one, and never breaks the page', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const asked = async (tool: string): Promise<readonly [shown: string, href: string | null]> => {
    await tab.open(`/servers/admin~linking?tab=tools&tool=${tool}`)
    await page.click('text=Run tool')
    await page.waitForSelector('.elic >> text=Decline')
    const shown = (await page.textContent('.elic')) ?? ''
    const links = await page.locator('.elic a').evaluateAll(all => all.map(one => one.getAttribute('href')))
    await page.click('.elic >> text=Decline')
    await page.waitForSelector('.tryres:has-text("decline")')
    return [shown, links[0] ?? null]
  }
  expect(await asked('percent')).toEqual([expect.stringContaining('https://%'), null])
  expect(await asked('fine')).toEqual([expect.stringContaining('Open a.example'), 'https://a.example/path?q=1'])
  expect(await asked('turned')).toEqual([expect.stringContaining('⟨U+202E⟩'), null])
  expect((await asked('template'))[0]).toContain('_$litType$')
  for (const tool of extent(['script', 'long'], ['script', 'long', ...REFUSED_LINKS]))
    expect((await asked(tool))[1]).toBeNull()
  await tab.close()
})

test('a destructive tool asks first', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const { items } = await admin.ok('GET', '/api/servers/memory/tools')
  const destructive = items.find(
    (tool: { annotations?: { destructiveHint?: boolean } }) => tool.annotations?.destructiveHint,
  )
  await tab.open(`/servers/admin~memory?tab=tools&tool=${destructive.name}`)
  await page.click('text=Run tool')
  await page.waitForSelector('wa-dialog[open] h2:has-text("Run ")')
  await page.click('wa-dialog[open] >> text=Cancel')
  expect(await page.locator('.hist li').count()).toBe(0)
  await tab.close()
})

test('settings: a conflict shows both, mine can be saved over theirs, and the secret is in no answer', async () => {
  const tab = await openTab(browser, hub, admin)
  const { page } = tab
  const answers: string[] = []
  page.on('response', async response => {
    if (response.url().includes('/api/servers')) answers.push(await response.text().catch(() => ''))
  })
  await tab.open('/servers/admin~memory?tab=settings')
  await page.getByLabel('Description').first().fill('Remembers things')
  await page.waitForSelector('.savebar:has-text("1 field changed")')
  await admin.ok('PATCH', '/api/servers/memory', { timeout: 45_000 })
  await page.click('.savebar >> text=Save')
  await page.waitForSelector('.callout:has-text("You have saved this meanwhile, elsewhere")')
  await page.click('text=Keep mine on top of theirs')
  await page.click('.savebar >> text=Save')
  await page.waitForSelector('.savebar:has-text("Nothing is changed")')
  const saved = await admin.ok('GET', '/api/servers/memory')
  expect([saved.description, saved.timeout]).toEqual(['Remembers things', 45_000])
  expect(answers.join('')).not.toContain('sk-secret-of-a-test')
  await page.getByLabel('Name').first().fill('')
  await page.click('.tabs >> text=Access')
  await page.click('wa-dialog[open] >> text=Cancel')
  expect(new URL(page.url()).searchParams.get('tab')).toBe('settings')
  await tab.close()
})

test('an offline server says why in our words; others see a public server read-only', async () => {
  const tab = await openTab(browser, hub, admin)
  await tab.open('/servers/admin~nowhere')
  await tab.page.waitForSelector('.callout.bad:has-text("the program is not there")')
  await tab.close()
  await admin.ok('PATCH', '/api/servers/everything', { visibility: 'public' })
  const other = await openTab(browser, hub, ben)
  await other.open('/servers/admin~everything')
  await other.page.waitForSelector('.callout:has-text("belongs to admin")')
  expect(await other.page.locator('.tabs a').allTextContents()).toHaveLength(4)
  expect(await other.page.locator('text=Stop server').count()).toBe(0)
  await other.close()
})
