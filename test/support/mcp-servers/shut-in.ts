/**
 * Stdio: tries actions that the sandbox must prevent and reports the results. The program is passed completely as an argument of
 * the runtime (see `shutIn`), since a sandboxed program sees no file of the tests.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { handleBasics, onMessages, sendText, tool } from './lines.ts'

const strings = { type: 'array', items: { type: 'string' } }
const TOOLS = [
  tool('read', 'Which of these paths can be read or listed', { paths: strings }),
  tool('search', 'In whose environment or command line these texts are, written backwards', { backwards: strings }),
  tool('connect', 'Which of these ports of an address answer', { host: { type: 'string' }, ports: strings }),
  tool('proxy', 'What the proxy, and what is behind it, says to a request', { request: { type: 'string' } }),
  tool('self', 'User, groups, folder, environment, capabilities'),
  tool('write', 'Writes a file', { path: { type: 'string' }, text: { type: 'string' } }),
  tool('link', 'Makes a symbolic link', { path: { type: 'string' }, to: { type: 'string' } }),
  tool('run', 'Runs a program and tells what it said', { command: strings }),
  tool('linger', 'Starts a process in a session of its own', { seconds: { type: 'string' } }),
  tool('grow', 'Takes so many MB of memory', { megabytes: { type: 'number' } }),
  tool('fork', 'Starts processes until no more can be started', { most: { type: 'number' } }),
]

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

function search(texts: readonly string[]): string[] {
  const pids = readdirSync('/proc').filter(name => /^\d+$/.test(name))
  const places = pids.flatMap(pid => [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`])
  return places.filter(place => {
    const content = attempt(() => readFileSync(place, 'latin1')) ?? ''
    return texts.some(text => content.includes([...text].reverse().join('')))
  })
}

function answers(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port })
  // Also run by Node 20, which has no Promise.withResolvers.
  return new Promise<boolean>(resolve => {
    socket.setTimeout(1_000, () => resolve(false))
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  }).finally(() => socket.destroy())
}

function proxy(request: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: 3128 })
  let text = ''
  socket.setEncoding('utf8')
  socket.once('connect', () => socket.write(`${request}\r\n\r\n`))
  socket.on('data', (chunk: string) => {
    if (text === '' && chunk.startsWith('HTTP/1.1 200 Connection'))
      socket.write(`GET /tunnel HTTP/1.1\r\nhost: inside\r\nconnection: close\r\n\r\n`)
    text += chunk
  })
  return new Promise(resolve => {
    socket.once('close', () => resolve(text))
    socket.once('error', error => resolve(`error ${error.message}`))
  })
}

function self(): object {
  const status = readFileSync('/proc/self/status', 'utf8')
  const line = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]
  return {
    uid: process.getuid?.(),
    groups: process.getgroups?.(),
    cwd: process.cwd(),
    env: process.env,
    capabilities: line('CapEff'),
    bounding: line('CapBnd'),
    noNewPrivileges: line('NoNewPrivs'),
    pids: readdirSync('/proc').filter(name => /^\d+$/.test(name)).length,
  }
}

async function fork(most: number): Promise<object> {
  const children = Array.from({ length: most }, () =>
    attempt(() => spawn('/usr/bin/sleep', ['60'], { stdio: 'ignore' })),
  )
  const failed: string[] = []
  await Promise.all(
    children.map(
      child =>
        child &&
        new Promise<void>(resolve => {
          child.once('spawn', () => resolve())
          child.once('error', error => {
            failed.push(String((error as NodeJS.ErrnoException).code))
            resolve()
          })
        }),
    ),
  )
  for (const child of children) child?.kill('SIGKILL')
  const refused = children.filter(child => child === undefined).length + failed.length
  return { started: most - refused, codes: [...new Set(failed)] }
}

const held: Uint8Array[] = []

onMessages(async message => {
  if (handleBasics(message, 'shut-in', TOOLS)) return
  const { name, arguments: given } = message.params
  const reply = (value: unknown): void => sendText(message.id, JSON.stringify(value))
  if (name === 'read') {
    const paths = given.paths as string[]
    reply(paths.filter(path => attempt(() => readFileSync(path)) ?? attempt(() => readdirSync(path))))
  } else if (name === 'search') reply(search(given.backwards))
  else if (name === 'connect') {
    const ports = given.ports as string[]
    const open = await Promise.all(ports.map(port => answers(given.host, Number(port))))
    reply(ports.filter((_, index) => open[index]))
  } else if (name === 'proxy') reply(await proxy(given.request))
  else if (name === 'self') reply(self())
  else if (name === 'write') reply(attempt(() => writeFileSync(given.path, given.text) ?? true) ?? false)
  else if (name === 'link') reply(attempt(() => symlinkSync(given.to, given.path) ?? true) ?? false)
  else if (name === 'run') {
    const [program = '', ...args] = given.command as string[]
    const { status, signal, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 15_000 })
    reply({ status, signal, out: stdout, err: stderr })
  } else if (name === 'linger') {
    spawn('/usr/bin/sleep', [given.seconds], { stdio: 'ignore', detached: true }).unref()
    reply(true)
  } else if (name === 'grow') {
    for (let size = 0; size < given.megabytes; size += 16) held.push(new Uint8Array(16 * 2 ** 20).fill(1))
    reply(held.length)
  } else reply(await fork(given.most))
})
