// Matrix products: the last lane that arrives multiplies the whole tile for all of them.
#include "scheduler.h"

#include "matrix.h"

namespace tilegen_emulator {

// ---- Elements ------------------------------------------------------------------------------------
static float float16_table[65536];
static pthread_once_t float16_table_made = PTHREAD_ONCE_INIT;

static const float* float16_values()
{
    pthread_once(&float16_table_made, [] {
        for (uint32_t bits = 0; bits < 65536; ++bits) float16_table[bits] = Format16::decode(bits);
    });
    return float16_table;
}

template <class T> static T at_index(const void* data, int index)
{
    T value;
    memcpy(&value, static_cast<const char*>(data) + size_t(index) * sizeof(T), sizeof(T));
    return value;
}

template <class Value, class Read>
static void scatter(Value* matrix, const uint16_t* place, int elements, Read read)
{
    for (int i = 0; i < elements; ++i) matrix[place[i]] = Value(read(i));
}

// Adds one lane's registers to the matrix.
template <class Value> static void gather(const Operand& operand, int lane, const void* data, Value* matrix)
{
    const uint16_t* place = operand.place + lane * operand.elements;
    const int n = operand.elements;
    switch (operand.element) {
    case Element::float16: {
        const float* values = float16_values();
        return scatter(matrix, place, n, [=](int i) { return values[at_index<uint16_t>(data, i)]; });
    }
    case Element::bfloat16:
        return scatter(matrix, place, n,
                       [=](int i) { return FormatBrain::decode(at_index<uint16_t>(data, i)); });
    case Element::e4m3:
        return scatter(matrix, place, n,
                       [=](int i) { return FormatE4M3::decode(at_index<uint8_t>(data, i)); });
    case Element::e5m2:
        return scatter(matrix, place, n,
                       [=](int i) { return FormatE5M2::decode(at_index<uint8_t>(data, i)); });
    case Element::tfloat32: // the low 13 bits do not take part
        return scatter(matrix, place, n,
                       [=](int i) { return float_of(at_index<uint32_t>(data, i) & 0xffffe000u); });
    case Element::float32: return scatter(matrix, place, n, [=](int i) { return at_index<float>(data, i); });
    case Element::float64: return scatter(matrix, place, n, [=](int i) { return at_index<double>(data, i); });
    case Element::int8: return scatter(matrix, place, n, [=](int i) { return at_index<int8_t>(data, i); });
    case Element::uint8: return scatter(matrix, place, n, [=](int i) { return at_index<uint8_t>(data, i); });
    case Element::int4: // the even element in the lower half of a byte
        return scatter(matrix, place, n, [=](int i) {
            return ((at_index<uint8_t>(data, i / 2) >> i % 2 * 4 & 15) ^ 8) - 8;
        });
    case Element::uint4:
        return scatter(matrix, place, n,
                       [=](int i) { return at_index<uint8_t>(data, i / 2) >> i % 2 * 4 & 15; });
    case Element::int32: return scatter(matrix, place, n, [=](int i) { return at_index<uint32_t>(data, i); });
    }
}

template <class Value>
static void give_back(const Operand& operand, int lane, const Value* matrix, void* data)
{
    const uint16_t* place = operand.place + lane * operand.elements;
    for (int i = 0; i < operand.elements; ++i) {
        const Value value = matrix[place[i]];
        char* to = static_cast<char*>(data) + i * (operand.bytes / operand.elements);
        if (operand.element == Element::float16) {
            const uint16_t bits = uint16_t(Format16::encode(float(value)));
            memcpy(to, &bits, 2);
        } else {
            memcpy(to, &value, sizeof value); // float32, float64 or int32: the type of the sum
        }
    }
}

// ---- The product ---------------------------------------------------------------------------------
template <int N, class Value>
static void product_of_width(const Value* a, const Value* b, Value* c, int m, int k)
{
    for (int i = 0; i < m; ++i) {
        Value row[N];
        memcpy(row, c + i * N, sizeof row);
        for (int d = 0; d < k; ++d) {
            const Value x = a[i * k + d];
            for (int j = 0; j < N; ++j) row[j] += x * b[d * N + j];
        }
        memcpy(c + i * N, row, sizeof row);
    }
}

struct Product {
    const MatrixInstruction* instruction;
    const void *a, *b;
    void* c;
};

template <class Value> static void perform_product(void* const* requests, uint64_t)
{
    constexpr int most = 32 * 32;
    Value a[most], b[most], c[most];
    const MatrixInstruction& instruction = *static_cast<Product*>(requests[0])->instruction;
    for (int lane = 0; lane < instruction.lanes; ++lane) {
        const Product& product = *static_cast<Product*>(requests[lane]);
        if (product.instruction != &instruction)
            fault(worker->running->at, "lane 0 is at %s, lane %d at %s", instruction.name, lane,
                  product.instruction->name);
        gather(instruction.a, lane, product.a, a);
        gather(instruction.b, lane, product.b, b);
        gather(instruction.c, lane, product.c, c);
    }
    const int m = instruction.a.rows, k = instruction.a.columns;
    switch (instruction.b.columns) {
    case 8: product_of_width<8>(a, b, c, m, k); break;
    case 16: product_of_width<16>(a, b, c, m, k); break;
    default: product_of_width<32>(a, b, c, m, k); break;
    }
    for (int lane = 0; lane < instruction.lanes; ++lane)
        give_back(instruction.c, lane, c, static_cast<Product*>(requests[lane])->c);
}

void whole_warp(const char* what, int lanes, Place at)
{
    const Thread& thread = *worker->running;
    const uint64_t all = lanes == 64 ? ~uint64_t(0) : 0xffffffffu;
    if (int(thread.identity.warp_size) != lanes)
        fault(at, "%s needs a warp of %d lanes; it has %u here", what, lanes, thread.identity.warp_size);
    if ((thread.warp->members & ~thread.warp->exited) != all)
        fault(at, "%s needs all lanes of the warp; lanes 0x%llx are here", what,
              (unsigned long long)(thread.warp->members & ~thread.warp->exited));
}

void multiply(const MatrixInstruction& instruction, const void* a, const void* b, void* c, Place at)
{
    whole_warp(instruction.name, instruction.lanes, at);
    Product product = {&instruction, a, b, c};
    const Perform perform = instruction.c.element == Element::float64 ? perform_product<double>
                            : instruction.c.element == Element::int32 ? perform_product<uint32_t>
                                                                      : perform_product<float>;
    meet(all_lanes(), &product, perform, instruction.name, at);
}

// ---- ldmatrix and stmatrix -----------------------------------------------------------------------
struct MatrixMove {
    int count;
    bool transposed;
    char* row;
    unsigned* registers;
};

template <bool LOAD> static void perform_move(void* const* requests, uint64_t)
{
    const MatrixMove& first = *static_cast<MatrixMove*>(requests[0]);
    for (int matrix = 0; matrix < first.count; ++matrix)
        for (int lane = 0; lane < 32; ++lane) {
            char* half =
                reinterpret_cast<char*>(&static_cast<MatrixMove*>(requests[lane])->registers[matrix]);
            for (int element = 0; element < 2; ++element) {
                const int outer = lane / 4, inner = lane % 4 * 2 + element;
                const int row = first.transposed ? inner : outer, column = first.transposed ? outer : inner;
                char* memory = static_cast<MatrixMove*>(requests[matrix * 8 + row])->row + column * 2;
                if (LOAD) memcpy(half + element * 2, memory, 2);
                else memcpy(memory, half + element * 2, 2);
            }
        }
}

void load_matrices(int count, bool transposed, const void* row, unsigned* registers, Place at)
{
    whole_warp("ldmatrix", 32, at);
    const bool names_a_row = int(self().lane) < 8 * count;
    if (names_a_row && !is_shared(row)) fault(at, "ldmatrix: the row is not in shared memory");
    if (names_a_row) touch_read(row, 16, 16, "ldmatrix", at);
    MatrixMove move = {count, transposed, static_cast<char*>(const_cast<void*>(row)), registers};
    meet(all_lanes(), &move, perform_move<true>, "ldmatrix", at);
}

void store_matrices(int count, bool transposed, void* row, const unsigned* registers, Place at)
{
    whole_warp("stmatrix", 32, at);
    const bool names_a_row = int(self().lane) < 8 * count;
    if (names_a_row && !is_shared(row)) fault(at, "stmatrix: the row is not in shared memory");
    if (names_a_row) touch_write(row, 16, 16, "stmatrix", at);
    MatrixMove move = {count, transposed, static_cast<char*>(row), const_cast<unsigned*>(registers)};
    meet(all_lanes(), &move, perform_move<false>, "stmatrix", at);
}

} // namespace tilegen_emulator
