/**
 * Runs inside a sandbox whose network is "proxy": listens where programs expect a proxy, forwards what they send to the
 * hub's Unix socket, and runs the server's program. The hub's own runtime runs it; it imports nothing of the hub.
 *
 * Arguments: the port, the socket's path, then the program with its arguments.
 */
import { closeSync, openSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'

const [port = '0', socketPath = '', ...command] = process.argv.slice(2)
carry(Number(port), socketPath, finish => runProgram(command, finish))

/** Forwards connections until `finish` is called, which ends the process. */
function carry(portNumber: number, path: string, ready: (finish: () => void) => void): void {
  const open = new Set<Socket>()
  const join = (one: Socket, other: Socket): void => {
    open.add(one)
    one.on('error', () => other.destroy())
    one.on('close', () => {
      open.delete(one)
      other.destroy()
    })
    one.pipe(other)
  }
  const server = createServer({ allowHalfOpen: true }, client => {
    const hub = connect({ path, allowHalfOpen: true })
    join(client, hub)
    join(hub, client)
  })
  server.listen({ host: '127.0.0.1', port: portNumber }, () =>
    ready(() => {
      server.close()
      for (const socket of open) socket.destroy()
    }),
  )
}

function runProgram(program: readonly string[], finish: () => void): void {
  const end = (code: number): void => {
    process.exitCode = code
    finish()
  }
  // The program gets the same signal and decides when to end; the sandbox ends with it.
  process.on('SIGTERM', () => undefined)
  try {
    Bun.spawn([...program], {
      stdio: ['inherit', 'inherit', 'inherit'],
      onExit: (_, code, signal) => end(code ?? (typeof signal === 'number' ? 128 + signal : 1)),
    })
    // Only the program holds its stdin and stdout, so that the hub sees when it closes them.
    for (const own of [0, 1]) {
      closeSync(own)
      openSync('/dev/null', own === 0 ? 'r' : 'w')
    }
  } catch (error) {
    // The wording of the sandbox's own stages, so that the hub maps both to the same error.
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    process.stderr.write(`bwrap: execvp ${program[0]}: ${missing ? 'No such file or directory' : String(error)}\n`)
    end(1)
  }
}
