/** The inspector and mcp-cli sign in to a hub, directly and below a path behind nginx. The test installs them for itself: it needs the npm registry. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Place, startPlace } from '../../plugins/oauth-server/behind-nginx.ts'
import { consent } from '../../support/oauth.ts'
import { makeTemp, removeTemp } from '../../support/temp.ts'
import { until } from '../../support/wait.ts'
import { devDependencies } from './package.json'

const INSPECTOR = '@modelcontextprotocol/inspector'
const MCP_CLI = '@wong2/mcp-cli'
const PROGRAMS = { [INSPECTOR]: 'clients/cli/build/index.js', [MCP_CLI]: 'src/cli.js' } as const

/** The inspector opens a browser without a terminal too. */
const SETTINGS = { MCP_AUTO_OPEN_ENABLED: 'true' }

let place: Place
let home: string
let browser: string
let visited: string

beforeAll(async () => {
  home = await makeTemp('programs')
  browser = join(home, 'browser')
  visited = join(home, 'visited')
  await writeFile(browser, `#!/bin/sh\nprintf '%s\\n' "$1" >> "${visited}"\n`, { mode: 0o755 })
  const dependencies = { [INSPECTOR]: devDependencies[INSPECTOR], [MCP_CLI]: devDependencies[MCP_CLI] }
  await writeFile(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }))
  const installing = Bun.spawn([process.execPath, 'install', '--ignore-scripts', '--silent'], { cwd: home })
  if ((await installing.exited) !== 0) throw new Error('The programs cannot be installed')
}, 400_000)

afterAll(async () => {
  await removeTemp(home)
}, 60_000)

/**
 * Runs a program of Node, and consents at the address that it opens or prints. Returns what it printed. `shown`: it waits for its user once
 * it has printed this.
 */
async function run(program: keyof typeof PROGRAMS, args: readonly string[], shown?: string) {
  await writeFile(visited, '')
  const child = Bun.spawn(['node', join(home, 'node_modules', program, PROGRAMS[program]), ...args], {
    ...{ cwd: home, stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
    env: { PATH: process.env.PATH ?? '', HOME: home, BROWSER: browser, ...SETTINGS },
  })
  const said = { out: '', error: '' }
  const reading = [gather(child.stdout, text => (said.out += text)), gather(child.stderr, text => (said.error += text))]
  let asked = 0
  await until(
    async () => {
      const texts = [await Bun.file(visited).text(), said.out, said.error].join('\n')
      const [, url] = /(http:\/\/\S+\/authorize\?\S+)/.exec(texts) ?? []
      if (url !== undefined && asked === 0) {
        asked = 1
        await (await fetch(await consent(place.ada, url))).text()
      }
      if (shown !== undefined && said.out.includes(shown)) child.kill()
      return child.exitCode !== null || child.signalCode !== null
    },
    { timeoutMs: 90_000, what: `the end of ${program}` },
  ).catch(error => {
    child.kill()
    throw new Error(`${error}\n${said.out}\n${said.error}`)
  })
  await Promise.all(reading)
  return { ...said, code: child.exitCode, asked }
}

async function gather(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }))
}

describe.each([
  ['directly', '', false],
  ['below a path behind nginx', '/hub', true],
])('%s', (_, basePath, nginx) => {
  beforeAll(async () => {
    place = await startPlace(basePath, nginx)
  }, 120_000)
  afterAll(() => place?.[Symbol.asyncDispose](), 60_000)

  describe.each(['/mcp/work', '/mcp'])('%s', path => {
    const tool = path === '/mcp' ? 'one_echo' : 'echo'

    test('the inspector', async () => {
      const target = [place.url + path, '--transport', 'http']
      const call = ['--method', 'tools/call', '--tool-name', tool, '--tool-arg', 'text=hello']
      const first = await run(INSPECTOR, [...target, ...call])
      expect([first.code, first.asked, first.out]).toEqual([0, 1, expect.stringContaining('hello')])
    }, 200_000)

    test('mcp-cli', async () => {
      const first = await run(MCP_CLI, ['--url', place.url + path], tool)
      expect([first.asked, first.out]).toEqual([1, expect.stringContaining(tool)])
      const again = await run(MCP_CLI, ['--url', place.url + path], tool)
      expect([again.asked, again.out]).toEqual([0, expect.stringContaining(tool)])
    }, 200_000)
  })
})
