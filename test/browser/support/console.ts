import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Client } from '../../support/client.ts'
import { extent } from '../../support/extent.ts'
import { type Hub, PASSWORD } from '../../support/hub.ts'

/** The way a journey sees the console. */
export interface View {
  readonly theme?: 'light' | 'dark'
  readonly language?: 'en' | 'zh'
  readonly width?: number
  readonly height?: number
  /** A touch screen with a coarse pointer. Default false. */
  readonly touch?: boolean
  /**
   * Starts with an empty cache. Default: a cache with the files that earlier tabs of such a view loaded, and no other stored
   * data.
   */
  readonly emptyCache?: boolean
}

/** The phone of the designs. */
export const PHONE: View = { width: 390, height: 844, touch: true }

/** All pairs of a theme, a language and a width. */
const PRODUCT = (['light', 'dark'] as const).flatMap(theme =>
  (['en', 'zh'] as const).flatMap(language =>
    [{}, PHONE].map((size): readonly [string, View] => {
      const words = [language === 'zh' ? 'Chinese' : 'English', theme, 'touch' in size ? 'phone' : 'wide']
      return [words.join(', '), { ...size, theme, language }]
    }),
  ),
)

/**
 * The views in which pages are checked: two views that share every theme, language and width between them (actions are also
 * tried in English, light and wide); all eight with PATCHBAY_WHOLE=1.
 */
export const VIEWS: readonly (readonly [string, View])[] = extent(
  PRODUCT.filter(([name]) => name === 'Chinese, dark, wide' || name === 'English, light, phone'),
  PRODUCT,
)

const AXE = readFileSync(join(import.meta.dir, '../../../node_modules/axe-core/axe.min.js'), 'utf8')
/** Lines that Chromium logs for an answer with an error status; such answers are part of journeys. */
const REFUSED =
  /^Failed to load resource: the server responded with a status of (?:400|401|403|404|409|410|412|413|422|429|502|503|504) /
/** The same while the hub is away. */
const AWAY =
  /net::ERR_(?:CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|NETWORK_CHANGED)/

/** Longest wait for anything on a page, and for the browser; long enough for a slow machine. */
const PATIENCE_MS = 90_000
/** Longest wait for the end of a navigation, and for the end of a tab. */
const CLOSING_MS = 20_000

const SHARED = Symbol.for('browser of the console tests')

/**
 * Debian's Chromium. All test files of one process share it, since a start costs two seconds of a processor. It ends with the
 * process, whose end closes the pipe between them.
 */
export async function openBrowser(): Promise<Browser> {
  // Outlives the modules of one test file.
  const shared = globalThis as { [SHARED]?: Promise<Browser> }
  const opened = await shared[SHARED]?.catch(() => undefined)
  if (opened?.isConnected()) return opened
  shared[SHARED] = launch()
  return shared[SHARED]
}

/** Profiles of browsers that ended with their process stay behind, since nothing runs after the last test. */
const PROFILE = /^playwright_chromiumdev_profile-/
const OLD_MS = 3_600_000

function removeOldProfiles(): void {
  for (const name of readdirSync(tmpdir()).filter(one => PROFILE.test(one))) {
    const path = join(tmpdir(), name)
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > OLD_MS) rmSync(path, { recursive: true, force: true })
  }
}

async function launch(): Promise<Browser> {
  removeOldProfiles()
  const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking']
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    timeout: PATIENCE_MS,
    args: [...args, '--disable-component-update', '--disable-sync'],
  })
}

/** One tab at the console of a hub, which notes everything that must not happen. */
export class ConsoleTab {
  readonly page: Page
  readonly url: string
  /** Address of a site that the console leads to; what happens there is not the console's. */
  elsewhere: string | undefined
  readonly #faults: string[] = []
  readonly #closed: Promise<void>
  readonly #end: () => Promise<boolean>

  constructor(page: Page, url: string, end: () => Promise<boolean>) {
    this.page = page
    this.url = url
    this.#end = end
    page.setDefaultTimeout(PATIENCE_MS)
    page.on('console', message => {
      const text = message.text()
      if (message.type() === 'error' && !this.#isElsewhere(page.url()) && !REFUSED.test(text) && !AWAY.test(text))
        this.#faults.push(`console: ${text}`)
    })
    page.on('pageerror', error => this.#faults.push(`error: ${error.stack ?? error.message}`))
    page.on('request', request => {
      const target = request.url()
      const isForeign = !target.startsWith(url) && !/^(?:data|blob):/.test(target)
      if (isForeign && !this.#isElsewhere(target) && !this.#isElsewhere(page.url()))
        this.#faults.push(`request to another host: ${target}`)
    })
    this.#closed = new Promise(resolve => page.once('close', () => resolve()))
  }

  #isElsewhere(address: string): boolean {
    return this.elsewhere !== undefined && address.startsWith(this.elsewhere)
  }

  /** Opens a path and waits for its heading. */
  async open(path: string): Promise<void> {
    await this.page.goto(`${this.url}${path}`)
    await this.page.waitForSelector('h1')
  }

  /**
   * Goes to a path and waits for a sign of it. It goes as a link of the console does, which takes a third of the time of a
   * page load. If the sign is already on the page, it would prove nothing: then the address is opened.
   */
  async go(path: string, sign: string): Promise<void> {
    const { page } = this
    const isHere = page.url().startsWith(this.url) && (await page.locator(sign).count()) === 0
    if (isHere) {
      await page.evaluate(target => {
        history.pushState(null, '', target)
        dispatchEvent(new PopStateEvent('popstate'))
      }, path)
    } else await page.goto(`${this.url}${path}`)
    await page.waitForSelector(sign)
  }

  /** Ends the tab; throws with everything that must not have happened: errors of scripts, policy violations, foreign requests. */
  async close(): Promise<void> {
    // A tab that Chromium does not end is left behind, and its profile is not used again.
    if (await this.#end()) await this.#closed
    if (this.#faults.length > 0) throw new Error(`In the browser:\n${this.#faults.join('\n')}`)
  }

  /** Throws when the page can be scrolled sideways, naming what sticks out. `asPhone`: also at the width of a phone. */
  async fitsSideways(asPhone: 'asPhone' | '' = ''): Promise<void> {
    await this.#fits()
    if (asPhone === '') return
    const size = this.page.viewportSize()
    const width = PHONE.width ?? 0
    if (!size || size.width <= width) return
    await this.page.setViewportSize({ ...size, width })
    await this.#fits()
    await this.page.setViewportSize(size)
  }

  async #fits(): Promise<void> {
    const wide = await this.page.evaluate(async () => {
      // A layout that reacts to a width is in place by the second frame.
      for (let picture = 0; picture < 2; picture += 1) await new Promise(requestAnimationFrame)
      const { scrollWidth, clientWidth } = document.documentElement
      if (scrollWidth <= clientWidth) return undefined
      const out = [...document.querySelectorAll('body *')].filter(
        one => one.getBoundingClientRect().right > clientWidth + 1,
      )
      return `${scrollWidth} > ${clientWidth}: ${out
        .slice(0, 5)
        .map(one => `${one.tagName}.${one.className}`)
        .join(' ')}`
    })
    if (wide !== undefined) throw new Error(`${this.page.url()} scrolls sideways: ${wide}`)
    const hidden = await this.page.evaluate(hiddenParts)
    if (hidden.length > 0)
      throw new Error(`${this.page.url()} at ${this.page.viewportSize()?.width} px: ${hidden.join('; ')}`)
  }
}

/**
 * Things that are there but cannot be seen or pressed: the ends of tables wider than their card, and words below a control.
 * Runs in the page.
 */
function hiddenParts(): string[] {
  const nameOf = (one: Element): string =>
    `${one.tagName}.${one.className} ${one.textContent?.trim().slice(0, 40) ?? ''}`
  const cut = [...document.querySelectorAll('main .tw')].filter(one => one.scrollWidth > one.clientWidth + 1)
  const covered = [...document.querySelectorAll('main :is(button, select, input, a.btn)')].filter(control => {
    const area = control.getBoundingClientRect()
    const around = control.closest('li, tr, .ch, .head, .row, .tf')
    if (!around || area.width < 2) return false
    const texts = document.createTreeWalker(around, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (control.contains(text) || text.parentElement?.closest('.vh, svg, button, select, label, a.btn')) continue
      // Text that is cut with an ellipsis ends there.
      let end = Number.POSITIVE_INFINITY
      for (let box = text.parentElement; box && box !== around; box = box.parentElement) {
        if (getComputedStyle(box).overflowX !== 'visible') end = Math.min(end, box.getBoundingClientRect().right)
      }
      const range = document.createRange()
      range.selectNodeContents(text)
      const meets = [...range.getClientRects()].some(
        ({ left, right, top, bottom }) =>
          Math.min(right, end) > area.left + 2 &&
          left < area.right - 2 &&
          bottom > area.top + 2 &&
          top < area.bottom - 2,
      )
      if (meets) return true
    }
    return false
  })
  return [...cut.map(one => `cut off: ${nameOf(one)}`), ...covered.map(one => `lies over words: ${nameOf(one)}`)]
}

/** Browser profiles of closed tabs, by browser and view: a new profile loads everything again, which takes a second of work. */
const idle = new WeakMap<Browser, Map<string, BrowserContext[]>>()

function idleOf(browser: Browser, kind: string): BrowserContext[] {
  const kinds = idle.get(browser) ?? new Map<string, BrowserContext[]>()
  idle.set(browser, kinds)
  const contexts = kinds.get(kind) ?? []
  kinds.set(kind, contexts)
  return contexts
}

/** Opens a tab. `as`: the user who is signed in; absent: nobody. */
export async function openTab(
  browser: Browser,
  hub: Pick<Hub, 'url'>,
  as?: Client,
  view: View = {},
): Promise<ConsoleTab> {
  const { theme = 'light', language = 'en', width = 1280, height = 900, touch = false } = view
  const options = {
    viewport: { width, height },
    colorScheme: theme,
    hasTouch: touch,
    isMobile: touch,
  }
  const contexts = view.emptyCache ? [] : idleOf(browser, JSON.stringify([hub.url, options]))
  const context = contexts.pop() ?? (await browser.newContext(options))
  const page = await context.newPage()
  const arrived = followNavigation(page)
  await page.addInitScript(
    ({ language, session }) => {
      // Each tab has a new sessionStorage; localStorage is shared.
      if (sessionStorage.getItem('patchbay.test') === null) localStorage.clear()
      sessionStorage.setItem('patchbay.test', 'begun')
      localStorage.setItem('patchbay.language', language)
      if (session) sessionStorage.setItem('patchbay.session', session)
    },
    { language, session: as && (await sessionOf(hub, as)) },
  )
  return new ConsoleTab(page, hub.url, async () => {
    await Promise.race([arrived(), Bun.sleep(CLOSING_MS)])
    const isClosed = await Promise.race([page.close().then(() => true), Bun.sleep(CLOSING_MS)])
    if (isClosed && !view.emptyCache) contexts.push(context)
    else if (isClosed) await context.close()
    return isClosed === true
  })
}

/** Resolves when no navigation of the tab is on its way; Chromium 150 may never report the end of a tab that is closed in the midst. */
function followNavigation(page: Page): () => Promise<void> {
  let arrival = Promise.withResolvers<void>()
  arrival.resolve()
  page.on('request', request => {
    if (request.isNavigationRequest()) arrival = Promise.withResolvers()
  })
  page.on('framenavigated', frame => frame === page.mainFrame() && arrival.resolve())
  page.on('requestfailed', request => request.isNavigationRequest() && arrival.resolve())
  return () => arrival.promise
}

/** Sign-ins that were made already: each costs the hub a password's hash. */
const sessions = new WeakMap<Client, Promise<string>>()

/** A session as the console keeps it, one for all tabs of a user. A test that signs out signs in by the page. */
function sessionOf(hub: Pick<Hub, 'url'>, client: Client): Promise<string> {
  const made = sessions.get(client) ?? signIn(hub, client)
  sessions.set(client, made)
  return made
}

async function signIn(hub: Pick<Hub, 'url'>, { name }: Client): Promise<string> {
  const body = JSON.stringify({ username: name, password: PASSWORD })
  const answer = await fetch(`${hub.url}/api/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  if (!answer.ok) throw new Error(`Sign-in of ${name} answered ${answer.status}`)
  return answer.text()
}

/** The part of axe's answer that is read. */
interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[]
  }[]
}

/** Violations that axe finds on the page. Evaluated and not put into the page as a script, which its policy forbids. */
export async function axe(tab: ConsoleTab): Promise<readonly string[]> {
  // Stays there until the console is loaded again.
  if (!(await tab.page.evaluate(() => 'axe' in globalThis))) await tab.page.evaluate(`${AXE};0`)
  return tab.page.evaluate(async () => {
    const { axe: run } = globalThis as unknown as {
      axe: { run(context: Document, options: object): Promise<AxeResult> }
    }
    // Elements that fade in have their final colours at the end.
    const layers = [...document.querySelectorAll('wa-dialog, wa-drawer')].flatMap(({ shadowRoot }) => shadowRoot ?? [])
    await Promise.all(
      [document, ...layers]
        .flatMap(root => root.getAnimations())
        .filter(({ effect }) => effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
        .map(({ finished }) => finished.catch(() => {})),
    )
    // All rules, without the paths of elements and a list of each that passes, which cost more than the rules.
    const { violations } = await run.run(document, { resultTypes: ['violations'], selectors: false })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
    )
  })
}

/** The share of the pages for this view: every second page, so that two views cover all; all pages with PATCHBAY_WHOLE=1. */
export function sharedOut<T>(pages: readonly T[], view: View): readonly T[] {
  const at = VIEWS.findIndex(([, one]) => one === view)
  return extent(
    pages.filter((_, index) => index % VIEWS.length === at),
    pages,
  )
}
