/**
 * Lets other waiting work run between the parts of a long task. Awaiting the database is not enough: SQLite answers at once, and
 * the awaiting code then continues before any other request.
 */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, 0))
}
