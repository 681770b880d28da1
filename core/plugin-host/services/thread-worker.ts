import * as logKit from '../../log-kit/mod.ts'
import { registerPluginModules } from '../../transport-kit/module.ts'
import { carriedError } from './carried-error.ts'
import type { FromThread, ToThread } from './thread-protocol.ts'

/** The thread of a plugin: answers each request by the default export of the plugin's module. */
class ThreadRuntime {
  #answer: Promise<(message: unknown) => unknown> | undefined

  receive(data: ToThread): void {
    if (data.type === 'load') {
      this.#answer = load(data.file)
      // Each request is answered with the failure.
      this.#answer.catch(() => undefined)
      return
    }
    const { id, message } = data
    this.#answered(message).then(
      value => post({ id, value }),
      error => post({ id, error: carriedError(error) }),
    )
  }

  async #answered(message: unknown): Promise<unknown> {
    const answer = await this.#answer
    return answer?.(message)
  }
}

/** Throws Error for a module whose default export is no function. */
async function load(file: string): Promise<(message: unknown) => unknown> {
  registerPluginModules({ 'patchbay/log-kit': logKit })
  const { default: answer } = (await import(file)) as { readonly default?: unknown }
  if (typeof answer !== 'function') throw new Error(`The default export of ${file} is no function`)
  return answer as (message: unknown) => unknown
}

function post(message: FromThread): void {
  self.postMessage(message)
}

const runtime = new ThreadRuntime()
self.onmessage = ({ data }: MessageEvent<ToThread>) => runtime.receive(data)
