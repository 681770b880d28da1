/** The console on a phone, by touch alone: no mouse is used in this file. */
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
  await browser?.close()
  await hub?.stop()
}, 120_000)

/** Taps a control, which is as high as a finger and lies under nothing else once it was scrolled to. */
async function tap(page: Page, selector: string): Promise<void> {
  const control = page.locator(selector).first()
  await control.waitFor()
  await control.scrollIntoViewIfNeeded()
  const { height, width, under } = await control.evaluate(element => {
    const box = element.getBoundingClientRect()
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)
    const isFree = top !== null && (element.contains(top) || top.contains(element))
    return { height: box.height, width: box.width, under: isFree ? '' : `${top?.tagName}.${top?.className}` }
  })
  expect([selector, under]).toEqual([selector, ''])
  // In half pixels, as borders of a scaled page come.
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
  await fill(tab, '#name', 'ada')
  await fill(tab, '#password', PASSWORD)
  await step('main button.pri', 'text=Skip')
  await step('text=Skip', 'text=Skip')
  await step('text=Skip', 'text=To the dashboard')
  await step('text=To the dashboard', 'main textarea')

  await fill(tab, 'main textarea', JSON.stringify({ mcpServers: { mine: stdioFixture('echo') } }))
  await step('main button.pri', 'pb-entry')
  await step('section.entry .foot button.pri', '.tabmenu select')
  const ada = await hub.signIn('ada')
  await online(ada, ['mine'])

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
  expect((await ada.ok('GET', '/api/groups/ada~work')).members).toHaveLength(1)
  await step('button:has-text("Connect a client")', 'pb-connect button:has-text("Make key")')
  await step('pb-connect button:has-text("Make key")', 'pb-connect .connect-text')
  await page.waitForFunction(() => document.querySelector('pb-connect .connect-text')?.textContent?.includes('pb_'))
  expect(await page.locator('pb-connect .connect-text').textContent()).toContain('/mcp/work')
  await tab.fitsSideways()
  await tab.close()
}, 300_000)
