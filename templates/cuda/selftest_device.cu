static void check(${ api }Error_t error)
{
    if (error == ${ api }Success) return;
    std::printf("${ test.target.name | upper }: %s\n", ${ api }GetErrorString(error));
    std::exit(1);
}

template <class Element, class T>
static Element* upload(const Tensor<T>& host)
{
    void* device;
    const size_t bytes = host.data.size() * sizeof(T);
    check(${ api }Malloc(&device, bytes));
    check(${ api }Memcpy(device, host.data.data(), bytes, ${ api }MemcpyHostToDevice));
    return static_cast<Element*>(device);
}
<% if test.outputs and not test.obstacle %>

template <class T>
static void download(Tensor<T>& host, const void* device)
{
    const size_t bytes = host.data.size() * sizeof(T);
    check(${ api }Memcpy(host.data.data(), device, bytes, ${ api }MemcpyDeviceToHost));
}
<% endif %>

// The mean time of one of `count` launches.
template <class Launch>
static double microseconds(Launch launch, int count)
{
    ${ api }Event_t start, stop;
    check(${ api }EventCreate(&start));
    check(${ api }EventCreate(&stop));
    check(${ api }EventRecord(start));
    for (int i = 0; i < count; ++i) launch();
    check(${ api }EventRecord(stop));
    check(${ api }EventSynchronize(stop));
    float ms;
    check(${ api }EventElapsedTime(&ms, start, stop));
    return 1e3 * ms / count;
}
