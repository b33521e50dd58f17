// The value before the update.
template <class T, class V> static inline T atomic_max(T* p, V value)
{
    T old, changed;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do changed = T(old > value || value != value ? old : value);
    while (!__atomic_compare_exchange(p, &old, &changed, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}
