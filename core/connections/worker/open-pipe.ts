import { type CarriedPipe, LinePipe, type PipeOptions } from './child-pipe.ts'

/**
 * Takes over two descriptors (connected socket ends) and carries them in this thread. `taken` is called as soon as both
 * belong to this thread; from then on they close with it.
 */
export async function openDescriptors(
  descriptors: { readonly read: number; readonly write: number },
  options: PipeOptions,
  taken: () => void,
): Promise<CarriedPipe> {
  const pipe = new LinePipe(options)
  const ended = (): void => pipe.ended()
  const inputClosed = (): void => pipe.inputClosed()
  const reader = await Bun.connect({
    fd: descriptors.read,
    socket: { data: (_: unknown, chunk: Buffer) => pipe.received(chunk), end: ended, close: ended, error: ended },
  } as unknown as Parameters<typeof Bun.connect>[0])
  const writer = await Bun.connect({
    fd: descriptors.write,
    socket: { data() {}, drain: () => pipe.drained(), end: inputClosed, close: inputClosed, error: inputClosed },
  } as unknown as Parameters<typeof Bun.connect>[0])
  taken()
  pipe.attach({
    write: data => writer.write(data),
    pause: () => void reader.pause(),
    resume: () => void reader.resume(),
    end: () => void writer.shutdown(),
    destroy: () => {
      writer.terminate()
      reader.terminate()
    },
  })
  return pipe
}

/** Carries a child's pipe through main, on machines where descriptors cannot be passed to a thread. */
export function openRelay(
  options: PipeOptions,
  main: { write(text: string): void; end(): void },
): CarriedPipe & { received(chunk: Buffer): void } {
  const pipe = new LinePipe(options)
  pipe.attach({
    write: data => {
      main.write(typeof data === 'string' ? data : Buffer.from(data).toString('utf8'))
      return typeof data === 'string' ? Buffer.byteLength(data) : data.length
    },
    end: () => main.end(),
    destroy: () => main.end(),
  })
  return pipe
}
