import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import type { JsonObject } from '../../core/contract/json.ts'
import { ROOT } from '../support/hub.ts'

/** An npm server, as far as it matters for its list of tools. */
interface Packaged {
  readonly name: string
  readonly package: string
  readonly version: string
  readonly env?: readonly string[]
  readonly fixed?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

/** Servers that are installed and asked at a time: most of it is waiting. */
const AT_ONCE = 4
const INSTALL_MS = 180_000
const LIST_MS = 45_000

/**
 * The tools of the catalogue's npm servers and of servers.tsv, by the server's name. They are installed into `folder`,
 * without their scripts, and run with invalid keys: most servers list their tools all the same. Servers that cannot be read
 * are left out.
 */
export async function readDefinitions(folder: string): Promise<ReadonlyMap<string, readonly JsonObject[]>> {
  const found = new Map<string, readonly JsonObject[]>()
  const waiting = [...(await catalogued()), ...(await listed())]
  const names = waiting.map(({ name }) => name)
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      try {
        found.set(one.name, await toolsOf(one, join(folder, one.name)))
      } catch (error) {
        console.log(`${one.name}: ${String(error).slice(0, 120)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, next))
  // In the order of the lists, whichever answered first.
  return new Map(names.flatMap(name => (found.has(name) ? [[name, found.get(name) ?? []] as const] : [])))
}

async function catalogued(): Promise<readonly Packaged[]> {
  const { templates } = await Bun.file(join(ROOT, 'plugins/market-bundled/catalogue.json')).json()
  const all: readonly (Packaged & { readonly runtime: string })[] = templates
  return all.filter(({ package: name, runtime }) => name !== undefined && runtime !== 'uvx')
}

/** Rows of servers.tsv: name, package, version, variables and arguments, the last two with blanks between. */
async function listed(): Promise<readonly Packaged[]> {
  const text = await Bun.file(join(import.meta.dir, 'servers.tsv')).text()
  return text
    .trimEnd()
    .split('\n')
    .map(row => {
      const [name = '', packageName = '', version = '', env = '', args = ''] = row.split('\t')
      const words = (list: string): string[] => list.split(' ').filter(word => word !== '')
      return { name, package: packageName, version, env: words(env), args: words(args) }
    })
}

async function toolsOf(server: Packaged, folder: string): Promise<readonly JsonObject[]> {
  const { package: name, version, args = [], env = [], fixed = {} } = server
  const manifest = join(folder, 'node_modules', name, 'package.json')
  if (!(await Bun.file(manifest).exists())) await install(`${name}@${version}`, folder)
  // This needs a new file object: one whose `exists` was false remembers a size of 0.
  const { bin } = await Bun.file(manifest).json()
  const program = typeof bin === 'string' ? bin : Object.values(bin as Record<string, string>)[0]
  const transport = new StdioClientTransport({
    command: 'node',
    args: [join(folder, 'node_modules', name, program ?? ''), ...args.map(filledIn)],
    cwd: folder,
    stderr: 'ignore',
    env: {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      ...Object.fromEntries(env.map(key => [key, isAddress(key) ? 'https://example.com' : 'recall'.repeat(8)])),
      ...fixed,
    },
  })
  const client = new Client({ name: 'recall', version: '1.0.0' })
  const options = { timeout: LIST_MS }
  try {
    await client.connect(transport, options)
    const tools: JsonObject[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, options)
      tools.push(...(page.tools as unknown as JsonObject[]))
      if (page.nextCursor === undefined) return tools
      cursor = page.nextCursor
    }
  } finally {
    await client.close()
  }
}

async function install(wanted: string, folder: string): Promise<void> {
  await Bun.write(join(folder, 'package.json'), '{}')
  const bun = Bun.spawn([process.execPath, 'add', '--ignore-scripts', '--no-progress', wanted], {
    cwd: folder,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
    timeout: INSTALL_MS,
  })
  if ((await bun.exited) !== 0) throw new Error(`${wanted} could not be installed`)
}

const isAddress = (key: string): boolean => /URL|HOST|ENDPOINT/i.test(key)

function filledIn(argument: string): string {
  return argument.replace(/\{[^}]+\}/g, input => (/dir|path|file/i.test(input) ? '/tmp' : 'https://example.com'))
}
