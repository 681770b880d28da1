/** The promise's value, or undefined after `ms`. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), ms)
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

interface Watched {
  /** Calls back on every change, until the returned function is called. */
  watch(changed: () => void): () => void
}

/** Resolves once `done` returns true, which is called at every change of these, or after `budgetMs`. */
export async function changedUntil(all: readonly Watched[], done: () => boolean, budgetMs: number): Promise<void> {
  if (done()) return
  await new Promise<void>(resolve => {
    const end = (): void => {
      clearTimeout(timer)
      for (const unwatch of unwatches) unwatch()
      resolve()
    }
    const timer = setTimeout(end, budgetMs)
    const unwatches = all.map(one =>
      one.watch(() => {
        if (done()) end()
      }),
    )
  })
}
