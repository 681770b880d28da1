// Unexpected behaviour of Bun with processes, threads and descriptors that the hub relies on.
import { dlopen, FFIType, ptr } from 'bun:ffi'
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { alive } from '../support/processes.ts'
import { makeTemp, removeTemp } from '../support/temp.ts'
import { until } from '../support/wait.ts'

let folder = ''

beforeAll(async () => {
  folder = await makeTemp('facts')
})

afterAll(() => removeTemp(folder))

async function script(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

test('the close code of a worker is no guide: a throw gives 1, an exit its code, a rejection that nobody handled 0', async () => {
  const ends = {
    throws: 'setTimeout(() => { throw new Error("as told") }, 5)',
    exits: 'process.exit(7)',
    rejects: 'setTimeout(() => { Promise.reject(new Error("as told")) }, 5); setTimeout(() => {}, 500)',
  }
  for (const [name, text] of Object.entries(ends)) await script(`${name}.js`, text)
  // In a process of its own: `bun test` listens for errors of workers and changes what they do.
  const path = await script(
    'codes.js',
    `for (const name of ${JSON.stringify(Object.keys(ends))}) {
       const worker = new Worker(${JSON.stringify(folder)} + '/' + name + '.js')
       worker.addEventListener('error', event => event.preventDefault())
       await new Promise(resolve => worker.addEventListener('close', event => { console.log(name, event.code); resolve() }))
     }`,
  )
  const child = Bun.spawn([process.execPath, path], { stdout: 'pipe', stderr: 'ignore' })
  expect(await new Response(child.stdout).text()).toBe('throws 1\nexits 7\nrejects 0\n')
})

test('terminate() ends a worker in an endless loop', async () => {
  const worker = new Worker(await script('spins.js', 'postMessage("up"); for (;;);'))
  await new Promise(resolve => worker.addEventListener('message', resolve, { once: true }))
  const closed = new Promise(resolve => worker.addEventListener('close', resolve, { once: true }))
  worker.terminate()
  await closed
})

test('env {} hides nothing from a worker: /proc/self/environ is that of the process', async () => {
  const text = 'postMessage([process.env.PATH, require("node:fs").readFileSync("/proc/self/environ", "utf8")])'
  const worker = new Worker(await script('environ.js', text), { env: {} } as WorkerOptions)
  const [own, environ] = await new Promise<[string | undefined, string]>(resolve => {
    worker.addEventListener('message', event => resolve(event.data))
  })
  worker.terminate()
  expect(own).toBeUndefined()
  expect(environ).toContain('PATH=')
})

test('a child that a worker spawned lives on when the worker is terminated', async () => {
  const text = 'postMessage(Bun.spawn(["sleep", "30"], { stdin: "ignore", stdout: "ignore" }).pid)'
  const worker = new Worker(await script('spawns.js', text))
  const pid = await new Promise<number>(resolve => worker.addEventListener('message', event => resolve(event.data)))
  const closed = new Promise(resolve => worker.addEventListener('close', resolve, { once: true }))
  worker.terminate()
  await closed
  const outlived = alive(pid)
  process.kill(pid, 'SIGKILL')
  expect(outlived).toBe(true)
})

test('an Error loses its code and its class on the way through a port', async () => {
  const text = 'class Own extends Error {}; postMessage(Object.assign(new Own("told"), { code: "x" }))'
  const worker = new Worker(await script('posts.js', text))
  const error = await new Promise<Error & { code?: string }>(resolve => {
    worker.addEventListener('message', event => resolve(event.data))
  })
  worker.terminate()
  expect(error.message).toBe('told')
  expect(error.code).toBeUndefined()
  expect(error.constructor.name).toBe('Error')
})

test('spawn tells a missing folder and a missing program apart in nothing: ENOENT', () => {
  const codeOf = (command: string, cwd: string): unknown => {
    try {
      Bun.spawn([command], { cwd, stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' })
    } catch (error) {
      return (error as { code?: unknown }).code
    }
  }
  expect(codeOf('no-such-program', folder)).toBe('ENOENT')
  expect(codeOf('true', join(folder, 'missing'))).toBe('ENOENT')
})

test('with a handler, an unhandled rejection and an uncaught exception leave the process alive', async () => {
  const path = await script(
    'lives.js',
    `process.on('unhandledRejection', () => console.log('rejection'))
     process.on('uncaughtException', () => console.log('exception'))
     Promise.reject(new Error('as told'))
     setTimeout(() => { throw new Error('as told') }, 10)
     setTimeout(() => console.log('alive'), 40)`,
  )
  const child = Bun.spawn([process.execPath, path], { stdout: 'pipe', stderr: 'ignore' })
  expect(await new Response(child.stdout).text()).toBe('rejection\nexception\nalive\n')
  expect(await child.exited).toBe(0)
})

test('descriptors of a socketpair serve as stdin and stdout of a child, and Bun.connect({fd}) reads and writes the other end', async () => {
  const AF_UNIX = 1
  const SOCK_STREAM_CLOEXEC = 1 | 0o2000000
  const libc = dlopen('libc.so.6', {
    socketpair: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
    close: { args: [FFIType.i32], returns: FFIType.i32 },
  })
  const ends = new Int32Array(2)
  expect(libc.symbols.socketpair(AF_UNIX, SOCK_STREAM_CLOEXEC, 0, ptr(ends))).toBe(0)
  const [ours = -1, theirs = -1] = ends
  const child = Bun.spawn(['cat'], { stdio: [theirs, theirs, 'ignore'] })
  libc.symbols.close(theirs)
  let text = ''
  let closed = false
  const socket = await Bun.connect({
    fd: ours,
    socket: {
      data(_: Bun.Socket, chunk: Buffer) {
        text += chunk.toString()
      },
      close() {
        closed = true
      },
    },
  } as unknown as Parameters<typeof Bun.connect>[0])
  socket.write('over the wire\n')
  await until(() => text === 'over the wire\n', { what: 'the echo' })
  child.kill('SIGKILL')
  await until(() => closed, { what: 'the close event after the death of the child' })
  await child.exited
  libc.close()
})
