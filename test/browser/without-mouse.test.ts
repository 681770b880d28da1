/** The console by touch alone on a phone, and by the keyboard alone: no mouse is used in this file. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser, Page } from 'playwright-core'
import { type Hub, PASSWORD, startHub, stdioFixture } from '../support/hub.ts'
import { online } from '../support/servers.ts'
import { type ConsoleTab, openBrowser, openTab, PHONE } from './support/console.ts'

/** A finger's width, in CSS pixels. */
const TARGET = 44

let browser: Browser
let hub: Hub

beforeAll(async () => {
  browser = await openBrowser()
  hub = await startHub()
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

/** Taps a control, which is as high as a finger and lies under nothing else once it was scrolled to. */
async function tap(page: Page, selector: string): Promise<void> {
  const control = page.locator(selector).first()
  await control.waitFor()
  // A control at the edge may be in view and yet under the bar at the bottom, from where a person scrolls on.
  await control.evaluate(element => element.scrollIntoView({ block: 'center' }))
  const { height, width, under } = await control.evaluate(element => {
    const box = element.getBoundingClientRect()
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
    const isFree = top !== null && (element.contains(top) || top.contains(element))
    return { height: box.height, width: box.width, under: isFree ? '' : `${top?.tagName}.${top?.className}` }
  })
  expect([selector, under]).toEqual([selector, ''])
  // Sizes come in half pixels, like borders of a scaled page.
  expect(`${selector}: ${Math.min(width, height) + 0.5 >= TARGET ? 'large enough' : `${width} × ${height}`}`).toBe(
    `${selector}: large enough`,
  )
  await control.tap()
}

async function fill(tab: ConsoleTab, selector: string, text: string): Promise<void> {
  await tab.page.locator(selector).tap()
  await tab.page.fill(selector, text)
  await tab.fitsSideways()
}

test('first run, a pasted server, a tool tried, a group made and a client connected, by touch', async () => {
  const tab = await openTab(browser, hub, undefined, PHONE)
  const { page } = tab
  const step = async (selector: string, then: string): Promise<void> => {
    await tap(page, selector)
    await page.waitForSelector(then)
    await tab.fitsSideways()
  }
  await tab.open('/')
  await fill(tab, '#token', hub.setupToken ?? '')
  await step('main button.pri', '#name')
  await fill(tab, '#name', 'admin')
  await fill(tab, '#password', PASSWORD)
  await step('main button.pri', 'text=Skip')
  await step('text=Skip', 'text=Skip')
  await step('text=Skip', 'text=To the dashboard')
  await step('text=To the dashboard', 'main textarea')

  await fill(tab, 'main textarea', JSON.stringify({ mcpServers: { mine: stdioFixture('echo') } }))
  await step('main button.pri', 'pb-entry')
  await step('section.entry .foot button.pri', '.tabmenu select')
  const admin = await hub.signIn('admin')
  await online(admin, ['mine'])

  await page.locator('.tabmenu select').selectOption('tools')
  await page.waitForSelector('pb-try-tool')
  await tab.fitsSideways()
  await fill(tab, 'pb-try-tool pb-schema-form input', 'by touch')
  await step('pb-try-tool button:has-text("Run tool")', '.tryres:has-text("by touch")')

  await page.goto(`${hub.url}/groups`)
  await step('main a[href$="/groups/new"]', '#g-name')
  await fill(tab, '#g-name', 'work')
  await step('pb-group-members wa-dropdown > button', 'pb-group-members wa-dropdown-item')
  await step('pb-group-members wa-dropdown-item', '[role=treeitem][data-key*="mine"]')
  await step('button:has-text("Make group")', 'button:has-text("Connect a client")')
  expect((await admin.ok('GET', '/api/groups/admin~work')).members).toHaveLength(1)
  await step('button:has-text("Connect a client")', 'pb-connect button:has-text("Make key")')
  await step('pb-connect button:has-text("Make key")', 'pb-connect .connect-text')
  await page.waitForFunction(() => document.querySelector('pb-connect .connect-text')?.textContent?.includes('pb_'))
  expect(await page.locator('pb-connect .connect-text').textContent()).toContain('/mcp/work')
  await tab.fitsSideways()
  await tab.close()
}, 300_000)

/** Most presses of Tab on the way to a control; a page with more stops before it is a fault of its own. */
const MOST_STOPS = 90

/** Describes the focus: `here` if it is on the element of a selector, its name, and `isSeen` if the focus is visible. */
async function focus(page: Page, selector = 'html'): Promise<{ here: boolean; name: string; isSeen: boolean }> {
  return page.evaluate(selector => {
    const active = document.activeElement ?? document.body
    let inner = active
    while (inner.shadowRoot?.activeElement) inner = inner.shadowRoot.activeElement
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(inner)
    const isRinged = (outlineStyle !== 'none' && Number.parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
    const name = `${active.tagName}#${active.id}.${active.className} "${(active.textContent ?? '').trim().slice(0, 40)}"`
    // Headings and the page itself take focus for readers of the screen and have no ring.
    return {
      here: active.matches(selector),
      name,
      isSeen: isRinged || active.matches('h1, main, wa-dialog, wa-drawer'),
    }
  }, selector)
}

/** Waits until an element has the focus: after an action it must never be on the page's body. */
async function kept(page: Page, after: string): Promise<void> {
  const isKept = page.waitForFunction(() => document.activeElement !== null && document.activeElement !== document.body)
  await isKept.catch(() => {
    throw new Error(`The focus is lost after: ${after}`)
  })
}

/** Presses Tab until the focus is on a control. The focus must be visible at every stop on the way. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const stops: string[] = []
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    const { here, name, isSeen } = await focus(page, selector)
    stops.push(name)
    // Behind the last stop of the page come the browser's own controls; there the body is the active element.
    if (!name.startsWith('BODY')) expect([name, isSeen]).toEqual([name, true])
    if (here) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${selector} is not reached by Tab; stops:\n${stops.join('\n')}`)
}

async function type(page: Page, selector: string, text: string): Promise<void> {
  await tabTo(page, selector)
  await page.keyboard.insertText(text)
}

async function press(page: Page, selector: string, key = 'Enter'): Promise<void> {
  await tabTo(page, selector)
  await page.keyboard.press(key)
  await kept(page, `${key} on ${selector}`)
}

test('by keys: signs in, adds a server, groups it and tries a tool; the focus is always seen and never lost', async () => {
  const admin = await hub.signIn('admin')
  // Removes what the touch test made: the first server of a menu must be the one that is added here.
  await admin.ok('DELETE', '/api/groups/work')
  await admin.ok('DELETE', '/api/servers/mine')
  const tab = await openTab(browser, hub)
  const { page } = tab
  await tab.open('/servers')
  await type(page, '#user', admin.name)
  await type(page, '#password', PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForSelector('pb-frame h1')
  await kept(page, 'signing in')

  await page.keyboard.press('n')
  await page.waitForURL('**/servers/new*')
  await page.waitForSelector('#pasted')
  await kept(page, 'n')
  await type(page, '#pasted', JSON.stringify({ mcpServers: { echoes: stdioFixture('echo') } }))
  await press(page, 'main button.pri:not([disabled])')
  await page.waitForSelector('#entry-name')
  await kept(page, 'reading what was pasted')
  await press(page, 'section.entry .foot button.pri')
  await page.waitForURL('**/servers/admin~echoes*')
  await kept(page, 'saving the server')
  await online(admin, ['echoes'])

  await page.keyboard.press('Control+k')
  await page.waitForSelector('wa-dialog.pb-palette[open] input')
  await kept(page, 'opening the palette')
  await page.keyboard.press('Escape')
  await page.waitForSelector('wa-dialog.pb-palette[open]', { state: 'detached' })
  await kept(page, 'closing the palette')

  await page.keyboard.press('g')
  await page.keyboard.press('g')
  await page.waitForURL('**/groups*')
  await page.waitForFunction(() => document.activeElement?.matches('h1, main'))
  await press(page, 'main a[href$="/groups/new"]')
  await page.waitForSelector('#g-name')
  await type(page, '#g-name', 'by-keys')
  await press(page, 'pb-group-members wa-dropdown > button')
  await page.waitForSelector('pb-group-members wa-dropdown-item')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForSelector('[role=treeitem][data-key*="echoes"]')
  await kept(page, 'choosing a member')
  await press(page, 'main button.pri:not([disabled])')
  await page.waitForURL('**/groups/admin~by-keys')
  await kept(page, 'making the group')
  expect((await admin.ok('GET', '/api/groups/admin~by-keys')).members).toHaveLength(1)

  await page.keyboard.press('g')
  await page.keyboard.press('s')
  await page.waitForURL('**/servers')
  await page.waitForFunction(() => document.activeElement?.matches('h1, main'))
  await press(page, 'tr[data-key] a[href*="echoes"]')
  await page.waitForURL('**/servers/admin~echoes*')
  await press(page, 'nav.tabs a[aria-current=page]', 'ArrowRight')
  await press(page, 'nav.tabs a[href*="tab=tools"]')
  await page.waitForURL(/tab=tools/)
  await page.waitForSelector('pb-try-tool')
  await kept(page, 'the tab of tools')
  await type(page, 'pb-try-tool pb-schema-form input', 'by keys')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector('.tryres:has-text("by keys")')
  await kept(page, 'running the tool')
  await tab.close()
}, 300_000)
