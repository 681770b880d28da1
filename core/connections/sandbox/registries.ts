import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { within } from '../within.ts'

const NPM = 'https://registry.npmjs.org/'
const PYPI = 'https://pypi.org/simple'
/** The host of the files that PyPI's index links to. */
const PYPI_FILES = 'https://files.pythonhosted.org/'
const ASK_MS = 10_000

/** The package registries of an installation, by runner. */
export interface Registries {
  readonly node: string
  readonly python: string
  /** All addresses that an installation may reach. */
  readonly urls: readonly string[]
}

/**
 * The registries: the configured addresses, of which one that ends in `/simple` is the Python index and the first other
 * one npm's registry; by default those in the configuration of npm and uv on this machine.
 */
export async function findRegistries(
  configured: readonly string[],
  env: { readonly PATH?: string; readonly HOME?: string },
): Promise<Registries> {
  if (configured.length > 0) {
    const python = configured.find(isPythonIndex)
    const node = configured.find(url => !isPythonIndex(url))
    return { node: node ?? NPM, python: python ?? PYPI, urls: configured }
  }
  const [node, python] = await Promise.all([npmRegistry(env), uvIndex(env)])
  return { node, python, urls: [node, python, ...(python === PYPI ? [PYPI_FILES] : [])] }
}

/** The check whether a host and port belong to a registry. */
export function permitsOf(urls: readonly string[]): (host: string, port: number) => boolean {
  const open = new Set(
    urls.map(text => {
      const url = new URL(text)
      return `${url.hostname}:${Number(url.port) || (url.protocol === 'https:' ? 443 : 80)}`
    }),
  )
  return (host, port) => open.has(`${host.toLowerCase().replace(/\.$/, '')}:${port}`)
}

function isPythonIndex(url: string): boolean {
  return /\/simple\/?$/.test(url)
}

async function npmRegistry(env: { readonly PATH?: string; readonly HOME?: string }): Promise<string> {
  try {
    const npm = Bun.which('npm', { PATH: env.PATH ?? '' })
    if (!npm) return NPM
    const npmConfig = Bun.spawn([npm, 'config', 'get', 'registry'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: env.PATH ?? '', HOME: env.HOME ?? '/' },
      cwd: '/',
      timeout: ASK_MS,
    })
    const configured = (await within(new Response(npmConfig.stdout).text(), ASK_MS)) ?? ''
    return webAddress(configured.trim()) ?? NPM
  } catch {
    // Without npm there is no configuration of it.
    return NPM
  }
}

async function uvIndex({ HOME }: { readonly HOME?: string }): Promise<string> {
  const files = [...(HOME ? [join(HOME, '.config/uv/uv.toml')] : []), '/etc/uv/uv.toml']
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const url = webAddress(/^\s*index-url\s*=\s*"([^"]+)"/m.exec(text)?.[1] ?? '')
    if (url !== undefined) return url
  }
  return PYPI
}

/** Without a user name or password, since the scripts of an installation can read it. */
function webAddress(text: string): string | undefined {
  const url = URL.parse(text)
  const plain = url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return plain ? url.href : undefined
}
