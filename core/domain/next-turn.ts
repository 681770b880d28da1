/**
 * Lets everything else run that is waiting, between the parts of a long piece of work. Awaiting the database is no such pause:
 * SQLite answers at once, and what is awaited then goes on before any other request.
 */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 0))
}
