/** Tools that clients of a group may miss, or see under an unexpected name. */
export interface GroupWarning {
  readonly code:
    | 'server_deleted'
    | 'server_unseen'
    | 'server_lists'
    | 'tool_missing'
    | 'tools_need_asking'
    | 'one_connection_only'
    | 'names_collide'
    | 'approval_waits'
    | 'items_left_out'
    | 'tools_costly'
    | 'tool_costly'
    | 'others_get_less'
    | 'selector_differs'
    | 'selector_partial'
    | 'selector_argument_taken'
  readonly message: string
  /** The server's name as its owner wrote it. */
  readonly server?: string
  /** Original names. */
  readonly tools?: readonly string[]
  /** Further values of the message, for translations by the code: texts and plain numbers. */
  readonly params?: Readonly<Record<string, string | number>>
}
