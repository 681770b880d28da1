import { HubError } from '../../contract/errors.ts'
import type { StderrWriter } from './stderr-tail.ts'

/** Bytes per 50 ms, some 600 KB a second, of which only the last lines are kept. */
const STDERR_SLICE_BYTES = 32 * 1024
const STDERR_SLICE_MS = 50

/** A child's stdin and stdout, carried through main. */
export interface ChildRelay {
  /** Reads stdout into `bytes` until it ends. */
  pump(bytes: (chunk: Uint8Array) => void): Promise<void>
  write(text: string): void
  end(): void
}

/** Reads stderr at a bounded rate: a server that floods it blocks on its own pipe. `ended`: called when nothing writes to it any more. */
export async function watchStderr(fd: number, tail: StderrWriter, ended: () => void): Promise<void> {
  let slice = 0
  let sliceStart = 0
  await Bun.connect({
    fd,
    socket: {
      data(socket: Bun.Socket, chunk: Buffer) {
        tail.push(chunk)
        const now = performance.now()
        if (now - sliceStart >= STDERR_SLICE_MS) {
          sliceStart = now
          slice = 0
        }
        slice += chunk.length
        if (slice <= STDERR_SLICE_BYTES) return
        slice = 0
        socket.pause()
        setTimeout(() => socket.resume(), STDERR_SLICE_MS)
      },
      close: ended,
      error: ended,
      drain() {},
    },
  } as unknown as Parameters<typeof Bun.connect>[0])
}

/** For a child that was started with pipes. `ended`: called when nothing writes to its stderr any more. */
export function makeRelay(running: Bun.Subprocess, tail: StderrWriter, ended: () => void): ChildRelay {
  const { stdin, stdout, stderr } = running
  if (typeof stdin !== 'object' || !(stdout instanceof ReadableStream) || !(stderr instanceof ReadableStream)) {
    throw new HubError('spawn_failed', 'The program was started without pipes')
  }
  void pumpInto(stderr, chunk => tail.push(Buffer.from(chunk))).then(ended, ended)
  return {
    pump: bytes => pumpInto(stdout, bytes),
    write: text => {
      stdin.write(text)
      stdin.flush()
    },
    end: () => void stdin.end(),
  }
}

async function pumpInto(stream: ReadableStream<Uint8Array>, bytes: (chunk: Uint8Array) => void): Promise<void> {
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    bytes(value)
  }
}
