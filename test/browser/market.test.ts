// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders of manifests, not template strings
/** Other versions of what was installed from the market, and bundles that are sent, in Chromium. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { MANIFEST, packed } from '../support/bundle.ts'
import { type Client, type Hub, LOOPBACK, startHub } from '../support/hub.ts'
import { axe, openBrowser, openTab, PHONE } from './support/console.ts'

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
  hub = await startHub({ env: LOOPBACK })
  admin = await hub.setup()
  const config = { registries: { mine: registry.url.href } }
  await admin.ok('PATCH', '/api/admin/plugins/market-registry', { config })
}, 120_000)

afterAll(async () => {
  await browser?.close()
  await hub?.stop()
  await registry?.stop(true)
}, 120_000)

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
  const tab = await openTab(browser, hub, admin, { withoutPolicy: true })
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
  await page.click('.clash button:has-text("Keep mine")')
  await page.click('.dfoot button:has-text("Change to 1.0.0")')
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
  const tab = await openTab(browser, hub, admin, { ...PHONE, language: 'zh', theme: 'dark', withoutPolicy: true })
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
