/** The command line of the inspector, one run for each request: `inspector.mjs JSON legacy|modern`. */
import { spawn } from 'node:child_process'
import { run } from './run.mjs'

const CLI = new URL('../node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js', import.meta.url)
  .pathname
const era = process.argv[3]

function inspect(url, key, args) {
  const connection = [
    url.href,
    '--transport',
    'http',
    '--protocol-era',
    era,
    '--header',
    `Authorization: Bearer ${key}`,
  ]
  const child = spawn(process.execPath, [CLI, ...connection, '--quiet', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'])
    child[name].on('data', chunk => {
      texts[name] += chunk
    })
  return new Promise((resolve, reject) => {
    child.on('close', code => {
      if (code === 0) resolve(JSON.parse(texts.stdout))
      else
        reject(new Error(JSON.parse(/^\{"error".*$/m.exec(texts.stderr)?.[0] ?? 'null')?.error.message ?? texts.stderr))
    })
  })
}

await run(async (url, key) => {
  const get = (...args) => inspect(url, key, args)
  const call = (name, args) => ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)]
  return {
    version: () => era,
    tools: async () => (await get('--method', 'tools/list')).tools.map(one => one.name),
    call: async (name, args) => (await get(...call(name, args))).content[0].text,
    resources: async () => (await get('--method', 'resources/list')).resources.map(one => one.uri),
    read: async uri => (await get('--method', 'resources/read', '--uri', uri)).contents[0].text,
    prompts: async () => (await get('--method', 'prompts/list')).prompts.map(one => one.name),
    prompt: async name => JSON.stringify((await get('--method', 'prompts/get', '--prompt-name', name)).messages),
  }
})
