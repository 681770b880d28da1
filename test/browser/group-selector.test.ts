/** The form of a group that offers equal servers as one: values by name, the difference where servers are unlike, and tags. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { sharedFixture } from '../mcp/shared-fixture.ts'
import type { Client } from '../support/client.ts'
import type { Hub } from '../support/hub.ts'
import { startOnline } from '../support/online-hub.ts'
import { axe, openBrowser, openTab, VIEWS } from './support/console.ts'

let browser: Browser
let hub: Hub
let admin: Client

beforeAll(async () => {
  browser = await openBrowser()
  const of = (name: string, env = {}) => sharedFixture('varied', { NAME: name, ...env })
  const mcpServers = {
    ...{ 'crm-eu': of('crm-eu'), 'crm-us': of('crm-us'), calendar: of('calendar', { TOOLS: '1' }) },
    'crm-old': of('crm-old', { SCHEMA: '{"type":"integer"}' }),
  }
  ;({ hub, admin } = await startOnline({ settings: { mcpServers } }))
}, 120_000)
afterAll(async () => {
  await hub?.stop()
}, 120_000)

test.each(VIEWS)(
  'equal servers are offered as one, and unlike ones show where: %s',
  async (id, view) => {
    const name = `as-one ${id.replaceAll(',', '')}`
    await admin.ok('POST', '/api/groups', { name, members: ['crm-eu', 'crm-old', 'crm-us', 'calendar'] })
    const tab = await openTab(browser, hub, admin, view)
    const { page } = tab
    await tab.open(`/groups/${encodeURIComponent(`admin~${name}`)}`)
    await page.fill('#g-tags', 'crm, eu')
    await page.fill('#g-instructions', 'Ask for the region first.')
    await page.click('input[role=switch][aria-labelledby="g-sel-h"]')
    await page.fill('#g-sel-arg', 'region')
    await page.fill('#g-sel-v0', 'eu')
    await page.fill('#g-sel-v1', 'old')
    await page.fill('#g-sel-v2', 'us')
    await page.fill('#g-sel-v3', '')
    await page.selectOption('#g-sel-default', 'eu')
    const save = page.locator('button.pri:has-text("Save"), button.pri:has-text("保存")')
    await save.click()
    await page.waitForSelector('td:has-text("/properties/it/type")')
    await tab.fitsSideways()
    // The colour of a button below the pointer is another one.
    await page.mouse.move(1, 1)
    await page.locator('h1').focus()
    expect(await axe(tab)).toEqual([])
    await page.fill('#g-sel-v1', '')
    await save.click()
    await page.waitForFunction(() => document.querySelector('.head .st.warn') === null)
    const saved = await admin.ok('GET', `/api/groups/${encodeURIComponent(name)}`)
    expect(saved.selector).toEqual({
      ...{ argument: 'region', members: { eu: 'admin~crm-eu', us: 'admin~crm-us' }, default: 'eu' },
    })
    expect([saved.tags, saved.instructions]).toEqual([
      ['crm', 'eu'],
      { text: 'Ask for the region first.', members: 'beside' },
    ])
    await tab.open('/groups?tag=CRM')
    await page.waitForSelector(`a.nm:has-text("${name}")`)
    await tab.close()
  },
  120_000,
)
