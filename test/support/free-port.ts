import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/** How many ports there are to choose from: two runs of tests side by side hardly ever choose the same one. */
const CHOICES = 12_000
/** Below these nothing listens without an administrator's rights. */
const PRIVILEGED = 1_024
const TRIES = 20

/**
 * A port of 127.0.0.1 that nobody listens on now, for a program that has to be told its port. The system gives it to nobody who
 * asks for any port meanwhile: Caddy shares a port with whom it finds there, and a client of the one talked to the other.
 */
export async function freePort(): Promise<number> {
  const first = lowestOfAny() - CHOICES
  for (let tries = 0; tries < TRIES && first > PRIVILEGED; tries += 1) {
    const port = first + Math.floor(Math.random() * CHOICES)
    if (await listened(port).catch(() => undefined)) return port
  }
  return listened(0)
}

/** The lowest port that the system gives to those who ask for any one, or to a connection. */
function lowestOfAny(): number {
  try {
    return Number(/\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))?.[0] ?? 0)
  } catch {
    return 0
  }
}

function listened(wanted: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const server = createServer()
  server.on('error', reject)
  server.listen(wanted, '127.0.0.1', () => {
    const { port } = server.address() as { port: number }
    server.close(() => resolve(port))
  })
  return promise
}
