/**
 * With so many processors or fewer, nearly each call has to wait for whatever else runs; with more of them it finds one that is
 * free. What can be done later then takes a smaller share of the time.
 */
export const FEW_PROCESSORS = 2
