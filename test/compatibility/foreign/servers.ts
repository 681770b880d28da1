import { join } from 'node:path'
import { ROOT } from '../../support/hub.ts'
import { EVERYTHING } from '../../support/peers.ts'

const HERE = import.meta.dir
const bun = process.execPath
const installed = (path: string): string => join(HERE, 'node_modules', path)
export const program = (name: string): string => join(HERE, 'programs', `${name}.mjs`)
const CHROMIUM = ['--headless', '--no-sandbox', '--executable-path', '/usr/bin/chromium']
const FILES = join(ROOT, 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js')

/** Both eras, as clients that can answer all that a server may ask. */
export const ERAS = ['2025-11-25', '2026-07-28'] as const
export type Era = (typeof ERAS)[number]
export const SESSIONS = ['shared', 'per-session'] as const
export type Session = (typeof SESSIONS)[number]

/** A test of a server: a call, and the text that its answer must contain. */
interface Trial {
  /** The words of the page when it works. */
  readonly label: string
  readonly tool: string
  readonly args?: (outside: Outside) => Record<string, unknown>
  readonly answer: (outside: Outside) => string
  /** For requests that the server sends outside of calls, which a client of 2026-07-28 cannot receive. */
  readonly sessionsAlone?: true
}

/** Things outside the hub that the servers use. */
export interface Outside {
  /** A web server of the tests. */
  readonly url: string
  /** A folder that the client has as its root, and one that the server is started with. */
  readonly root: string
  readonly given: string
}

export interface ForeignServer {
  readonly name: string
  readonly id: string
  /** Its entry in a package.json, for the version. */
  readonly package: string
  readonly how: 'stdio' | 'streamable HTTP' | 'OpenAPI'
  /** The program to start, with its arguments, for a server that listens at an address. */
  readonly listens?: readonly [program: string, ...args: string[]]
  readonly entry: (outside: Outside, url: string) => object
  readonly sessions: readonly Session[]
  readonly trials: (session: Session) => readonly Trial[]
  /** Weighs much, or needs a browser: left to `bun run compatibility`. */
  readonly heavy?: true
}

const call = (tool: string, args: Record<string, unknown>, answer: string): Trial => ({
  label: `\`${tool}\` works`,
  tool,
  args: () => args,
  answer: () => answer,
})
const ADD = call('add', { a: 1, b: 2 }, '3')
const ROOTS = { label: 'has the roots of its client', answer: ({ root }: Outside) => root }
/** They ask right after the handshake, before any call. */
const EARLY_ROOTS = { ...ROOTS, sessionsAlone: true as const }

/** Trials that pass only if one client has the connection to itself. */
function alone(session: Session, ...trials: readonly Trial[]): readonly Trial[] {
  return session === 'per-session' ? trials : []
}

export const SERVERS: readonly ForeignServer[] = [
  {
    name: 'server-everything',
    id: 'everything',
    package: '@modelcontextprotocol/server-everything',
    how: 'stdio',
    entry: () => ({ command: bun, args: [EVERYTHING] }),
    sessions: SESSIONS,
    trials: session => [
      call('echo', { message: 'hi' }, 'Echo: hi'),
      ...alone(
        session,
        { ...call('trigger-sampling-request', { prompt: 'Hi' }, 'sampled by ann'), label: 'samples' },
        { ...call('trigger-elicitation-request', {}, '- Name: ann'), label: 'elicits' },
        { ...ROOTS, tool: 'get-roots-list' },
      ),
    ],
  },
  {
    name: 'server-filesystem',
    id: 'files',
    package: '@modelcontextprotocol/server-filesystem',
    how: 'stdio',
    entry: ({ given }) => ({ command: bun, args: [FILES, given] }),
    sessions: SESSIONS,
    trials: session => [
      call('list_allowed_directories', {}, 'Allowed directories'),
      session === 'shared'
        ? { label: 'has the folder of its arguments', tool: 'list_allowed_directories', answer: ({ given }) => given }
        : { ...EARLY_ROOTS, tool: 'list_allowed_directories' },
    ],
  },
  {
    name: 'FastMCP',
    id: 'fastmcp',
    package: 'fastmcp',
    how: 'stdio',
    entry: () => ({ command: bun, args: [program('fastmcp-server')] }),
    sessions: SESSIONS,
    trials: session => [ADD, ...alone(session, { ...EARLY_ROOTS, tool: 'roots' })],
  },
  {
    name: 'FastMCP over HTTP',
    id: 'fastmcp-http',
    package: 'fastmcp',
    how: 'streamable HTTP',
    listens: ['fastmcp-server', 'http'],
    entry: (_, url) => ({ url }),
    sessions: SESSIONS,
    // No roots: over HTTP it gives up on its client's capabilities, without a hub between them as well.
    trials: () => [ADD],
  },
  {
    name: 'mcp-handler',
    id: 'handler',
    package: 'mcp-handler',
    how: 'streamable HTTP',
    listens: ['mcp-handler-server'],
    entry: (_, url) => ({ url }),
    sessions: SESSIONS,
    trials: () => [ADD],
  },
  {
    name: '@hono/mcp',
    id: 'hono',
    package: '@hono/mcp',
    how: 'streamable HTTP',
    listens: ['hono-server'],
    entry: (_, url) => ({ url }),
    sessions: SESSIONS,
    trials: () => [ADD],
  },
  {
    name: 'Playwright',
    id: 'playwright',
    package: '@playwright/mcp',
    how: 'stdio',
    entry: () => ({ command: bun, args: [installed('@playwright/mcp/cli.js'), '--isolated', ...CHROMIUM] }),
    sessions: SESSIONS,
    trials: () => [
      {
        label: '`browser_navigate` works',
        tool: 'browser_navigate',
        args: ({ url }) => ({ url: `${url}/page` }),
        answer: () => 'Page Title: A page of the tests',
      },
    ],
    heavy: true,
  },
  {
    name: 'Notion',
    id: 'notion',
    package: '@notionhq/notion-mcp-server',
    how: 'stdio',
    entry: ({ url }) => ({
      command: bun,
      args: [installed('@notionhq/notion-mcp-server/bin/cli.mjs')],
      env: { NOTION_TOKEN: 'ntn_of_the_tests', BASE_URL: url },
    }),
    sessions: SESSIONS,
    trials: () => [call('API-get-self', {}, 'the bot of the tests')],
    heavy: true,
  },
  {
    name: "GitHub's document, of octokit",
    id: 'octokit',
    package: '@octokit/openapi',
    how: 'OpenAPI',
    entry: ({ url }) => ({ openapi: { url: `${url}/api.github.com.json`, baseUrl: url } }),
    sessions: ['shared'],
    trials: () => [call('meta_get', {}, 'verifiable_password_authentication')],
    heavy: true,
  },
]

/** The trials for a client of this era. */
export function trialsOf({ trials }: ForeignServer, session: Session, era: Era): readonly Trial[] {
  return trials(session).filter(({ sessionsAlone }) => !sessionsAlone || era === '2025-11-25')
}
