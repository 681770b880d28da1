import { createHash } from 'node:crypto'
import { headerItems } from '../../request/headers.ts'
import type { RequestInfo } from '../../request/request-info.ts'
import { type BuiltFiles, type ConsoleManifest, readBuild } from './built-files.ts'

/** Dependencies of the console's pages. */
export interface ConsoleOptions {
  /** Folder of the build, `ui/dist`. */
  readonly folder: string
  /** Path at which the hub is mounted: empty, or such as `/hub`. */
  readonly basePath: string
  /** True while there is no administrator yet. */
  readonly setupOpen: () => Promise<boolean>
}

/** The web console. */
export interface Console {
  /** Answers a request for a page or a file of the console; undefined: it is for neither. */
  answer(request: Request, path: string, info: RequestInfo): Promise<Response | undefined>
}

/**
 * Allows scripts and styles from this hub only, connections to the hub only, and no text as markup: content of another user's
 * record cannot run. Lit needs the one trusted-types policy for its own templates. `inline`: SHA-256 of the only text in the page
 * that counts as a script, the import map; browsers take an import map from nowhere else.
 */
const policy = (inline?: string): string =>
  [
    "default-src 'none'",
    `script-src 'self'${inline === undefined ? '' : ` 'sha256-${inline}'`}`,
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    'trusted-types lit-html',
  ].join('; ')

/** Names the module `patchbay/console` for pages of plugins from elsewhere. */
function importMap({ module }: ConsoleManifest, basePath: string): string {
  return JSON.stringify({ imports: { 'patchbay/console': `${basePath}/${module}` } })
}

const ASSETS = '/assets/'
/** Paths of the API and of files; a browser that opens one gets the same answer as a program. */
const NOT_PAGES = /^\/(?:api|health|metrics|plugins|assets|mcp|\.well-known)(?:\/|$)/

/** Creates the console from a build. If there is no build, each request looks for it again. */
export function createConsole(options: ConsoleOptions): Console {
  let build: Promise<BuiltFiles | undefined> | undefined
  const built = async (): Promise<BuiltFiles | undefined> => {
    build ??= readBuild(options.folder)
    const found = await build.catch(() => undefined)
    if (!found) build = undefined
    return found
  }
  return {
    async answer(request, path) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
      if (path.startsWith(ASSETS)) return (await built())?.answer(path.slice(ASSETS.length), request)
      if (NOT_PAGES.test(path) || !wantsPage(request, path)) return undefined
      const files = await built()
      const headers = { 'cache-control': 'no-cache' }
      if (!files) {
        const retry = { 'content-security-policy': policy(), 'retry-after': '2' }
        return page(request, NOT_BUILT, 503, { ...headers, ...retry })
      }
      const map = importMap(files.manifest, options.basePath)
      const inline = createHash('sha256').update(map).digest('base64')
      const setup = await options.setupOpen()
      const status = isPage(path, files.manifest, setup) ? 200 : 404
      const text = pageText(files.manifest, { basePath: options.basePath, setup, map })
      return page(request, text, status, { ...headers, 'content-security-policy': policy(inline) })
    },
  }
}

function page({ method }: Request, text: string, status: number, more: Readonly<Record<string, string>>): Response {
  const headers = { ...more, 'content-type': 'text/html; charset=utf-8' }
  if (method !== 'HEAD') return new Response(text, { status, headers })
  return new Response(null, { status, headers: { ...headers, 'content-length': String(Buffer.byteLength(text)) } })
}

/**
 * At `/` every request gets the page unless it accepts only JSON. Elsewhere only requests that accept HTML get a page; others
 * get the 404 problem.
 */
function wantsPage(request: Request, path: string): boolean {
  const accepted = headerItems(request.headers.get('accept')).map(item => item.split(';', 1)[0]?.trim() ?? '')
  if (path !== '/') return accepted.includes('text/html')
  const named = accepted.filter(type => type !== '')
  return named.length === 0 || !named.every(type => /^application\/(?:[\w.-]+\+)?json$/.test(type))
}

/** The set-up page exists only until there is an administrator. */
function isPage(path: string, { pages }: ConsoleManifest, setup: boolean): boolean {
  if (path === '/setup') return setup
  if (path === '/reset-password') return true
  const parts = path.split('/')
  return pages.some(pattern => {
    const wanted = pattern.split('/')
    return (
      wanted.length === parts.length &&
      wanted.every((part, at) => (part.startsWith(':') ? parts[at] !== '' : part === parts[at]))
    )
  })
}

/** Parts of a page that differ between hubs. */
interface PageParts {
  readonly basePath: string
  readonly setup: boolean
  readonly map: string
}

/**
 * The page has no inline script or style, since the policy forbids both, but for the import map. It shows the name in the frame's place until the frame
 * is rendered.
 */
function pageText(manifest: ConsoleManifest, { basePath, setup, map }: PageParts): string {
  const at = (path: string): string => `${basePath}/${path}`
  const preload = manifest.preload.map(path => `<link rel="modulepreload" href="${at(path)}">`).join('\n')
  return `<!doctype html>
<html lang="en" data-base="${basePath}" data-sprite="${at(manifest.sprite)}"${setup ? ' data-setup="open"' : ''}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Patchbay</title>
<link rel="icon" href="${at(manifest.icon)}" type="image/svg+xml">
<script src="${at(manifest.theme)}"></script>
<link rel="stylesheet" href="${at(manifest.style)}">
<script type="importmap">${map}</script>
${preload}
<script type="module" src="${at(manifest.entry)}"></script>
</head>
<body>
<div class="app boot" id="boot" aria-hidden="true"><div class="rail"><span class="brand"><span class="wd">patchbay</span></span></div></div>
<noscript>The console needs JavaScript. The API is described at ${at('api/docs')}.</noscript>
</body>
</html>
`
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Patchbay</title></head>
<body>
<h1>The console is not built</h1>
<p>The hub runs, and its API answers. Build the console with <code>bun ui/build.ts</code>, which also says why it could not be
built, and load this page again.</p>
</body>
</html>
`
